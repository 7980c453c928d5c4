"""SONiC's tables of queues and buffers: what they may hold (`schema`), a scenario as such
(`exporting`), and such as a scenario (`importing`)."""
