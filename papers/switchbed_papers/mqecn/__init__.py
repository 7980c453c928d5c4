"""MQ-ECN's claims, what they are measured by, and why some do not hold."""
