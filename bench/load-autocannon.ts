import autocannon from 'autocannon'
import { HOST } from './http-exchange.ts'
import { linesOf } from './lines.ts'
import type { Load, LoadResult } from './load.ts'

// node load-autocannon.ts '<a Load as JSON>': generates the load if wrk is not installed.
const load = JSON.parse(process.argv[2] as string) as Load
const lines = linesOf(load.file)
let next = 0

const result = await autocannon({
  url: `http://${HOST}:${load.port}`,
  connections: load.connections,
  duration: load.seconds,
  requests: [{ method: load.method, headers: load.headers, setupRequest }],
})
const loaded: LoadResult = {
  requests: result.requests.total,
  seconds: result.duration,
  bytes: result.throughput.total,
  errors: result.errors + result.timeouts + result.non2xx,
  p50: result.latency.p50,
  p99: result.latency.p99,
}
console.log(`RESULT ${JSON.stringify(loaded)}`)

/** All connections share one position in the file. */
function setupRequest(request: autocannon.Request): autocannon.Request {
  const line = lines[next++ % lines.length] as string
  if (load.method === 'POST') return { ...request, path: load.before, body: line }
  if (load.tailHeader !== undefined) {
    const headers = { ...request.headers, [load.tailHeader]: line }
    return { ...request, path: load.before, headers }
  }
  return { ...request, path: `${load.before}${line}${load.after}` }
}
