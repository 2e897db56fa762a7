"""How the embedded reader is made: pages whose every character is known, phases, losses, a loop."""
