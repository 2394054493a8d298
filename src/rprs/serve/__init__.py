"""The HTTP API and the web interface: indexes, served on this computer.

app.py          the application: guards, routes, web interface, error handlers
routes.py       the routes of the API
models.py       requests and responses, for the OpenAPI schema
requests.py     request bodies → query documents
bodies.py       JSON → requests, large ones in other processes
handlers.py     the work of each route, in a thread
tasks.py        the work of the routes that search, by path
workers.py      the same in other processes (worker.py)
jobs.py         limits on how many requests run and wait; progress and cancellation
events.py       progress as server-sent events
collections.py  several indexes: one at a time, or as one
adding.py       documents for a collection, and what was skipped
service.py      the index behind the routes: the newest snapshot for each request, and one writer
uploads.py      untrusted files, read in a separate process (reading.py)
guard.py        access control and security headers
limits.py       limits on the size and duration of requests
connection.py   the server process; limits on idle and slow connections
gathering.py    bodies that arrive in small pieces
errors.py       the status and message of each error
log.py          the access log
prefix.py       a path prefix behind a proxy
metrics.py      Prometheus metrics
docs.py         the OpenAPI schema as an HTML page
client.py       `Client`: the interface of `Searcher` over HTTP
web/            the web interface: plain HTML, CSS and ES modules
"""
