import { Agent, request as httpRequest } from 'node:http'

export const HOST = '127.0.0.1'

export interface HttpRequest {
  readonly method: 'GET' | 'POST'
  readonly path: string
  readonly headers?: Readonly<Record<string, string>>
  readonly body?: string
}

export interface HttpResponse {
  readonly status: number
  /** Names and values alternating, as received. */
  readonly rawHeaders: readonly string[]
  readonly body: Buffer
  /** Head and body as received. */
  readonly bytes: number
}

/**
 * Sends one request.
 * @param agent the connection to use; without it, a new keep-alive connection like those of the load
 */
export function sendRequest(
  port: number,
  scenario: HttpRequest,
  agent?: Agent,
): Promise<HttpResponse> {
  if (agent !== undefined) return sendOver(agent, port, scenario)
  const own = new Agent({ keepAlive: true })
  return sendOver(own, port, scenario).finally(() => own.destroy())
}

function sendOver(agent: Agent, port: number, { method, path, headers, body }: HttpRequest) {
  return new Promise<HttpResponse>((resolve, reject) => {
    const options = { host: HOST, port, method, path, agent, headers: { ...headers } }
    const request = httpRequest(options, (response) => {
      const chunks: Buffer[] = []
      response.on('data', (chunk: Buffer) => chunks.push(chunk))
      response.on('error', reject)
      response.on('end', () => {
        const { statusCode: status = 0, statusMessage = '', rawHeaders } = response
        const bytes = Buffer.concat(chunks)
        const head = headLength(statusMessage, rawHeaders)
        resolve({ status, rawHeaders, body: bytes, bytes: head + bytes.length })
      })
    })
    request.setTimeout(10_000, () => request.destroy(new Error('no answer for 10 seconds')))
    request.on('error', reject)
    request.end(body)
  })
}

export const JSON_TYPE = { 'Content-Type': 'application/json' }

function headLength(statusMessage: string, rawHeaders: readonly string[]): number {
  const fields = rawHeaders.reduce((sum, each) => sum + Buffer.byteLength(each) + 2, 0)
  return 'HTTP/1.1 200 '.length + statusMessage.length + 2 + fields + 2
}
