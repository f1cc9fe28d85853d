import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import { DatabaseSync } from 'node:sqlite'
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
  /**
   * `verify` the signature in the request, or `sign` the response. `claim`: verify the signature, check that the key is of prime
   * order, and write it durably into a SQLite file, with all others that wait, before the response.
   */
  readonly work: 'none' | 'verify' | 'sign' | 'claim'
  /** For claims. */
  readonly database?: string
}

// node bare.ts '<a BareTask as JSON>': the ceiling, a server that does as little as node:http can to send the same
// bytes.
const task = JSON.parse(process.argv[2] as string) as BareTask
const headers = [...task.headers]
const body = Buffer.from(task.body, 'base64')

const publicKey = Buffer.alloc(sodium.crypto_sign_PUBLICKEYBYTES)
const secretKey = Buffer.alloc(sodium.crypto_sign_SECRETKEYBYTES)
sodium.crypto_sign_keypair(publicKey, secretKey)

const server = createServer({ none: answer, verify, sign, claim }[task.work])
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
  readJson(request, ({ publicKey, challenge, signature }) => {
    const key = Buffer.from(publicKey as string, 'base64')
    if (isSignature(key, challenge as string, signature as string)) answer(request, response)
    else response.writeHead(401).end()
  })
}

const waiting: { readonly key: Buffer; readonly text: string; readonly done: () => void }[] = []
const commitAll = task.work === 'claim' ? groupCommit(task.database as string) : () => undefined

function claim(request: IncomingMessage, response: ServerResponse): void {
  // The bench waits for a server by a request without a body.
  if (request.method === 'GET') {
    answer(request, response)
    return
  }
  readJson(request, ({ claimToken, agentId, publicKey, signature }) => {
    const key = Buffer.from(publicKey as string, 'base64')
    const text = `${claimToken}|${agentId}`
    const isValid =
      sodium.crypto_core_ed25519_is_valid_point(key) && isSignature(key, text, signature as string)
    if (!isValid) return response.writeHead(401).end()
    if (waiting.length === 0) setImmediate(commitAll)
    waiting.push({ key, text, done: () => answer(request, response) })
  })
}

/** @returns a function that writes all that wait in one transaction, and then answers them */
function groupCommit(file: string): () => void {
  const database = new DatabaseSync(file)
  database.exec('pragma journal_mode = wal; pragma synchronous = full')
  database.exec('create table claims (id integer primary key, key blob, text text)')
  const insert = database.prepare('insert into claims (key, text) values (?, ?)')
  return () => {
    const group = waiting.splice(0)
    database.exec('begin immediate')
    for (const { key, text } of group) insert.run(key, text)
    database.exec('commit')
    for (const { done } of group) done()
  }
}

function readJson(
  request: IncomingMessage,
  use: (body: Readonly<Record<string, unknown>>) => void,
): void {
  const chunks: Buffer[] = []
  request.on('data', (chunk: Buffer) => chunks.push(chunk))
  request.on('end', () => {
    const text = (chunks.length === 1 ? (chunks[0] as Buffer) : Buffer.concat(chunks)).toString()
    use(JSON.parse(text))
  })
}

function isSignature(key: Buffer, text: string, signature: string): boolean {
  return sodium.crypto_sign_verify_detached(
    Buffer.from(signature, 'base64'),
    Buffer.from(text, 'utf8'),
    key,
  )
}
