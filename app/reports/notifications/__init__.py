"""Messages to people, in the form that each kind of receiver takes."""
