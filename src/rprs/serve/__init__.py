"""The HTTP API and the page: one index, served on this computer.

app.py          the routes
models.py       what they take and give, for the OpenAPI schema
service.py      the index behind them: the newest snapshot for each request, and the one writer
work.py         requests that take time: so many at once, so many waiting, stopped when nobody wants them
events.py       their progress as server-sent events
uploads.py      files of strangers, read in a process of their own (reading.py)
guard.py        who may ask, from where
limits.py       how much, how long
connection.py   connections that say nothing
log.py          what is said of a request, and what is not
metrics.py      numbers for Prometheus
docs.py         the schema as a page
web/            the page: plain HTML, CSS and ES modules
"""
