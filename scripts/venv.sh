#!/bin/sh
# Makes .venv in this checkout, or sees that the one there is still good; then it says nothing.
#
# A venv is made anew when its Python no longer runs, is too old or another one than $PYTHON asks for, and when the
# checkout was moved. It is brought up to date in place when pyproject.toml or a pin changed. .venv/.stamp remembers.
set -eu
cd "$(dirname "$0")/.."
here=$(pwd -P)
venv=$here/.venv

say() { printf '%s\n' "$*" >&2; }

# Runs, new enough: prints its version and its real path. A pyenv shim may exist and yet refuse to run.
identify() {
    "$1" -c 'import sys; sys.exit(1) if sys.version_info < (3, 11) else print(sys.version.split()[0], sys.base_prefix)' 2>/dev/null
}

find_python() {
    for candidate in python3.13 python3.12 python3.11 python3.14 python3 python; do
        if identify "$candidate" >/dev/null; then
            printf '%s\n' "$candidate"
            return
        fi
    done
    say "No Python 3.11 or newer was found. Install one, or name it: make PYTHON=/path/to/python3 ..."
    return 1
}

# Prints why the venv cannot be used, or nothing when it can.
defect() {
    [ -e "$venv" ] || { echo "there is none"; return; }
    found=$(identify "$venv/bin/python") || { echo "its Python does not run, or is older than 3.11"; return; }
    if [ -n "${PYTHON:-}" ] && [ "$found" != "$(identify "$PYTHON")" ]; then
        echo "it has another Python than $PYTHON"
        return
    fi
    [ "$(remembered)" = "$(wanted)" ] && return
    # A moved venv still runs, but its scripts and the link to this checkout lead to the old place.
    case $("$venv/bin/pip" --version 2>/dev/null) in
        *"$venv/"*) ;;
        *) echo "it has no pip that works here; was it moved?" ;;
    esac
}

create() {
    python=${PYTHON:-$(find_python)}
    identify "$python" >/dev/null || { say "$python does not run, or is older than Python 3.11."; exit 1; }
    # The one that was found may be that of the very .venv that goes now, when it is activated.
    python=$("$python" -c 'import sys; print(sys._base_executable)')
    say "Making .venv with Python $(identify "$python") ($1)."
    rm -rf "$venv"
    if "$python" -c 'import ensurepip' 2>/dev/null; then
        "$python" -m venv "$venv"
    else
        # Some distributions ship pip but not the wheels that `venv` wants: then the outer pip fills the new one.
        "$python" -m venv --without-pip "$venv"
        "$python" -m pip --python "$venv/bin/python" install --quiet --disable-pip-version-check pip
    fi
}

install() {
    say "Installing the pinned packages into .venv; this happens once, and again when a pin changes."
    run_pip install --requirement requirements/dev.txt
    run_pip install --no-deps --requirement requirements/data.txt
    run_pip install --no-deps --no-build-isolation --editable .
}

run_pip() { "$venv/bin/python" -m pip --disable-pip-version-check --quiet "$@"; }

remembered() { cat "$venv/.stamp" 2>/dev/null || true; }

wanted() { echo "$(identify "$venv/bin/python") $venv $(cat pyproject.toml requirements/*.txt | cksum)"; }

why=$(defect)
[ -z "$why" ] || create "$why"
if [ "$(remembered)" != "$(wanted)" ]; then
    install
    wanted >"$venv/.stamp"
fi
