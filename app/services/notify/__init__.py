"""Notifications: what people are told of a project's alerts and machines, by whichever way they chose.

        alert_log.is_news ─▶ plan_news ─▶ notifier_news ─▶ compose_message ─▶ notification ─▶ send_message
                             whom it may    alerts to look    what is said     each until it has arrived
                             concern        at, each once     and to whom

        incident.is_news ─▶ plan_machines ─▶ incident_news ─▶ compose_machines ─▶ the same
                            for projects that use them

Nothing is decided by what a message of the queue says: each step looks at how things stand, so that a step that comes
twice does nothing the second time, and one that is lost is found by `find_waiting`.
"""
