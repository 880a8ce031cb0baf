"""Programs that use armory_trio as a host would. The tests run each of them."""
