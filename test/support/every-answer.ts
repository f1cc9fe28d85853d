import { ServerResponse } from 'node:http'
import { gunzipSync } from 'node:zlib'
import { judgeFor, type OpenApi } from './openapi.ts'
import type { TestService } from './service.ts'

/** So much of a body is kept; longer ones are pictures and scripts. */
const MOST_BYTES = 1_000_000

interface Told {
  readonly method: string
  readonly target: string
  /** Status line and headers, as they were sent. */
  readonly head: string
  readonly body: Buffer
}

const watched = new Map<number, Told[]>()
let patched = false

/**
 * Watches what a service in this process answers to all clients: fetch, a browser, bare sockets.
 * @param env its settings, on which its /openapi.json depends
 * @returns judges everything that it has answered since, against its own /openapi.json
 */
export function watchAnswers(
  port: number,
  env: TestService['env'],
): (url: string) => Promise<void> {
  if (!patched) patch()
  const answers: Told[] = []
  watched.set(port, answers)
  return async (url) => {
    watched.delete(port)
    // The caller lives as long as the test run, what was answered need not.
    const judged = answers.splice(0)
    if (judged.length === 0) return
    const openApi = await judgeFor(env, url)
    for (const answer of judged) judge(openApi, answer)
  }
}

function judge(openApi: OpenApi, { method, target, head, body }: Told): void {
  const [line = '', ...fields] = head.split('\r\n')
  const headers = new Headers()
  for (const field of fields) {
    const colon = field.indexOf(':')
    if (colon > 0) headers.append(field.slice(0, colon), field.slice(colon + 1).trim())
  }
  const status = Number(line.split(' ')[1])
  // A stream says what it says for as long as it is read.
  if (headers.get('content-type')?.startsWith('text/event-stream')) return
  const plain =
    headers.get('content-encoding') === 'gzip' && body.length > 0 ? gunzipSync(body) : body
  const text = method === 'HEAD' || status === 304 ? '' : plain.toString('utf8')
  openApi.assertConforms(method, target, { status, headers, text })
}

/** What is written to a response passes by here, once, and goes on as it was. */
function patch(): void {
  patched = true
  const { write, end } = ServerResponse.prototype
  const bodies = new WeakMap<ServerResponse, Buffer[]>()
  const keep = (response: ServerResponse, chunk: unknown) => {
    if (!watched.has(response.req.socket.localPort ?? 0)) return
    const chunks = bodies.get(response) ?? []
    bodies.set(response, chunks)
    if (typeof chunk === 'string') chunks.push(Buffer.from(chunk))
    else if (chunk instanceof Uint8Array && chunk.length <= MOST_BYTES) {
      chunks.push(Buffer.from(chunk))
    }
  }
  ServerResponse.prototype.write = function (this: ServerResponse, ...args: never[]) {
    keep(this, args[0])
    return Reflect.apply(write, this, args)
  } as typeof write
  ServerResponse.prototype.end = function (this: ServerResponse, ...args: never[]) {
    keep(this, args[0])
    const { method = '', url = '', socket } = this.req
    const answers = watched.get(socket.localPort ?? 0)
    const result = Reflect.apply(end, this, args)
    const head = (this as unknown as { readonly _header: string })._header
    answers?.push({ method, target: url, head, body: Buffer.concat(bodies.get(this) ?? []) })
    return result
  } as typeof end
}
