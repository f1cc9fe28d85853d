import { createServer, type Socket } from 'node:net'
import type { Cleanup } from './service.ts'

/** An e-mail that the server has accepted. */
export interface ReceivedEmail {
  readonly from: string
  readonly to: readonly string[]
  /** Headers and body as they came, with CRLF. */
  readonly raw: string
}

/** What the server does instead of accepting an e-mail. */
export type SmtpBehaviour =
  | 'accept'
  /** Accepts the connection and says nothing. */
  | 'silent'
  /** Rejects the recipient for good, and repeats the address in its answer. */
  | 'reject-recipient'
  /** Asks to try again later. */
  | 'busy'
  /** Takes the whole e-mail, and closes the connection without an answer. */
  | 'drop-after-data'

/** An SMTP server (RFC 5321) for tests: no TLS, no authentication, no pipelining. */
export interface SmtpServer {
  readonly url: string
  readonly received: ReceivedEmail[]
  /** Connections that were opened so far. */
  readonly connections: () => number
  behaviour: SmtpBehaviour
}

export async function startSmtpServer(t: Cleanup): Promise<SmtpServer> {
  const sockets = new Set<Socket>()
  let connections = 0
  const server = createServer((socket) => {
    connections += 1
    sockets.add(socket)
    socket.on('close', () => sockets.delete(socket))
    socket.on('error', () => undefined)
    if (smtp.behaviour !== 'silent') converse(socket, smtp)
  })
  const smtp: SmtpServer = {
    url: '',
    received: [],
    connections: () => connections,
    behaviour: 'accept',
  }
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  t.after(() => {
    for (const socket of sockets) socket.destroy()
    server.close()
  })
  const { port } = server.address() as { port: number }
  return Object.assign(smtp, { url: `smtp://127.0.0.1:${port}` })
}

function converse(socket: Socket, smtp: SmtpServer): void {
  let buffer = ''
  let inData = false
  let from = ''
  let to: string[] = []
  const say = (line: string) => socket.write(`${line}\r\n`)
  const command = (line: string) => {
    const verb = line.slice(0, 4).toUpperCase()
    if (verb === 'EHLO' || verb === 'HELO') return say('250 test')
    if (verb === 'MAIL') {
      from = /<(.*)>/.exec(line)?.[1] ?? ''
      return say(smtp.behaviour === 'busy' ? '451 4.3.2 Try again later' : '250 OK')
    }
    if (verb === 'RCPT') {
      const address = /<(.*)>/.exec(line)?.[1] ?? ''
      if (smtp.behaviour === 'reject-recipient') return say(`550 5.1.1 <${address}> is unknown`)
      to.push(address)
      return say('250 OK')
    }
    if (verb === 'DATA') {
      inData = true
      return say('354 Go on')
    }
    if (verb === 'QUIT') {
      say('221 Bye')
      return socket.end()
    }
    return say('250 OK')
  }
  socket.on('data', (chunk) => {
    buffer += chunk.toString('latin1')
    for (;;) {
      const end = inData ? buffer.indexOf('\r\n.\r\n') : buffer.indexOf('\r\n')
      if (end < 0) return
      const text = buffer.slice(0, end)
      buffer = buffer.slice(end + (inData ? 5 : 2))
      if (!inData) {
        command(text)
        continue
      }
      inData = false
      smtp.received.push({ from, to, raw: text.replaceAll('\r\n..', '\r\n.') })
      to = []
      if (smtp.behaviour === 'drop-after-data') return socket.destroy()
      say('250 OK')
    }
  })
  say('220 test ESMTP')
}

/** The headers of an e-mail, unfolded, by name in lower case. */
export function headersOf({ raw }: ReceivedEmail): ReadonlyMap<string, string> {
  const head = (raw.split('\r\n\r\n', 1)[0] ?? '').replaceAll(/\r\n[ \t]+/g, ' ')
  return new Map(
    head.split('\r\n').map((line) => {
      const at = line.indexOf(':')
      return [line.slice(0, at).toLowerCase(), line.slice(at + 1).trim()]
    }),
  )
}

/** The plain text of an e-mail with the parts text and HTML, decoded from quoted-printable, 7bit or base64. */
export function plainTextOf({ raw }: ReceivedEmail): string {
  const part = /Content-Type: text\/plain[\s\S]*?\r\n\r\n([\s\S]*?)\r\n--/.exec(raw)
  const [whole = '', body = ''] = part ?? []
  if (/Content-Transfer-Encoding: base64/i.test(whole)) {
    return Buffer.from(body, 'base64').toString('utf8')
  }
  if (!/Content-Transfer-Encoding: quoted-printable/i.test(whole)) return body
  const bytes = body
    .replaceAll('=\r\n', '')
    .replaceAll(/=([0-9A-F]{2})/g, (_, hex: string) =>
      String.fromCharCode(Number.parseInt(hex, 16)),
    )
  return Buffer.from(bytes, 'latin1').toString('utf8')
}
