"""What things are: frozen values, enums, units and errors. No I/O, no clock."""
