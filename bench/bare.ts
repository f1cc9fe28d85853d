import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import sodium from 'sodium-native'
import { HOST } from './http-exchange.ts'

/** A fixed response, and what the server does before it sends it. */
export interface BareTask {
  readonly port: number
  /** Names and values alternating, without the headers that node:http adds itself. */
  readonly headers: readonly string[]
  /** Base64. */
  readonly body: string
  readonly keepAliveMs: number
  /** `verify` the signature in the request, or `sign` the response. */
  readonly work: 'none' | 'verify' | 'sign'
}

// node bare.ts '<a BareTask as JSON>': the ceiling, a server that does as little as node:http can to send the same
// bytes.
const task = JSON.parse(process.argv[2] as string) as BareTask
const headers = [...task.headers]
const body = Buffer.from(task.body, 'base64')

const publicKey = Buffer.alloc(sodium.crypto_sign_PUBLICKEYBYTES)
const secretKey = Buffer.alloc(sodium.crypto_sign_SECRETKEYBYTES)
sodium.crypto_sign_keypair(publicKey, secretKey)

const server = createServer({ none: answer, verify, sign }[task.work])
server.keepAliveTimeout = task.keepAliveMs
server.listen(task.port, HOST)

function answer(_request: IncomingMessage, response: ServerResponse): void {
  response.writeHead(200, headers)
  response.end(body)
}

function sign(request: IncomingMessage, response: ServerResponse): void {
  const signature = Buffer.alloc(sodium.crypto_sign_BYTES)
  sodium.crypto_sign_detached(signature, body, secretKey)
  answer(request, response)
}

function verify(request: IncomingMessage, response: ServerResponse): void {
  const chunks: Buffer[] = []
  request.on('data', (chunk: Buffer) => chunks.push(chunk))
  request.on('end', () => {
    const text = (chunks.length === 1 ? (chunks[0] as Buffer) : Buffer.concat(chunks)).toString()
    const { publicKey, challenge, signature } = JSON.parse(text)
    const valid = sodium.crypto_sign_verify_detached(
      Buffer.from(signature, 'base64'),
      Buffer.from(challenge, 'utf8'),
      Buffer.from(publicKey, 'base64'),
    )
    if (valid) answer(request, response)
    else response.writeHead(401).end()
  })
}
