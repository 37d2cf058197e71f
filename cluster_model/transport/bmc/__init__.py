"""Sessions to BMCs, by Redfish and IPMI."""
