"""The live switch: interfaces, the switch as a process, its control socket, and labs of
network namespaces around it. The forwarding itself is `crates/live`."""
