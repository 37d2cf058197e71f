"""Rules about networks: bandwidth, addresses, losslessness, redundancy."""
