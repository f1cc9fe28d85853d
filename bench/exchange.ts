import { Agent, request as httpRequest } from 'node:http'

export const HOST = '127.0.0.1'

export interface Ask {
  readonly method: 'GET' | 'POST'
  readonly path: string
  readonly headers?: Readonly<Record<string, string>>
  readonly body?: string
}

export interface Answer {
  readonly status: number
  /** Names and values in turn, as they came. */
  readonly rawHeaders: readonly string[]
  readonly body: Buffer
  /** On the wire, head and body. */
  readonly bytes: number
}

/**
 * Asks once.
 * @param agent whose connection it goes over; without it over one of its own, that stays alive as those of the load do
 */
export function ask(port: number, question: Ask, agent?: Agent): Promise<Answer> {
  if (agent !== undefined) return askOver(agent, port, question)
  const own = new Agent({ keepAlive: true })
  return askOver(own, port, question).finally(() => own.destroy())
}

function askOver(agent: Agent, port: number, { method, path, headers, body }: Ask) {
  return new Promise<Answer>((resolve, reject) => {
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
