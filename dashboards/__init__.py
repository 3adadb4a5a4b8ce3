"""What people look at: templates, static files, later Grafana."""
