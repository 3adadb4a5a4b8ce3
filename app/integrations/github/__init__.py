"""GitHub: messages that it sends, read; what is said to it, through githubkit."""
