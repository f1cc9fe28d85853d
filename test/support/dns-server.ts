import { createSocket } from 'node:dgram'
import { type AddressInfo, createServer, type Socket } from 'node:net'
import packet from 'dns-packet'
import type { Cleanup } from './service.ts'

/** How a server fails; `silence` means no response. */
export type DnsFailure = 'SERVFAIL' | 'REFUSED' | 'silence'

export type RecordType = 'A' | 'AAAA' | 'CNAME' | 'TXT'

/** A record's text. A TXT record may be given as a list of its strings. */
export type RecordData = string | readonly string[]

/** A DNS server on loopback, over UDP and TCP, that responds like a recursive resolver. */
export interface TestDns {
  /** In the format of DNS_RESOLVERS. */
  readonly address: string
  /** Replaces the records of a name and type. With no records the name still exists. `*.example.com` is a wildcard. */
  set(name: string, type: RecordType, records: readonly RecordData[]): void
  /** Successive queries get successive answers, then always the last one. For DNS rebinding. */
  setInTurn(name: string, type: RecordType, answers: readonly (readonly RecordData[])[]): void
  /** Removes a name, so that queries get NXDOMAIN. */
  remove(name: string): void
  /** Fails for a name, or for every name if it is `*`. Null ends the failure. */
  fail(name: string, failure: DnsFailure | null): void
  /** Truncates responses over UDP, so that clients have to use TCP. */
  truncate(name: string): void
  /** The number of queries for a name. */
  asked(name: string, type?: RecordType): number
}

interface Options {
  /** If false, a CNAME is returned without its target's records, as by an authoritative server. */
  readonly followCnames?: boolean
  /** The address to listen on. */
  readonly host?: string
}

/** Longer chains of CNAMEs are treated as loops. */
const LONGEST_CHAIN = 16
const RCODES = { NOERROR: 0, SERVFAIL: 2, NXDOMAIN: 3, REFUSED: 5 } as const

export async function startDnsServer(t: Cleanup, options: Options = {}): Promise<TestDns> {
  const { host = '127.0.0.1', followCnames = true } = options
  const zone = new Zone(followCnames)
  const { udp, tcp } = await bindBoth(host)
  udp.on('message', (message, from) => {
    const answer = zone.answer(message, 'udp')
    if (answer) udp.send(answer, from.port, from.address)
  })
  const sockets = new Set<Socket>()
  tcp.on('connection', (socket) => {
    sockets.add(socket)
    socket.on('error', () => undefined)
    socket.on('close', () => sockets.delete(socket))
    let received = Buffer.alloc(0)
    socket.on('data', (chunk) => {
      received = Buffer.concat([received, chunk])
      while (received.length >= 2 && received.length >= 2 + received.readUInt16BE()) {
        const end = 2 + received.readUInt16BE()
        const answer = zone.answer(received.subarray(2, end), 'tcp')
        received = received.subarray(end)
        if (!answer) continue
        const length = Buffer.alloc(2)
        length.writeUInt16BE(answer.length)
        socket.write(Buffer.concat([length, answer]))
      }
    })
  })
  t.after(() => {
    udp.close()
    tcp.close()
    for (const socket of sockets) socket.destroy()
  })
  const { port } = udp.address()
  return {
    address: host.includes(':') ? `[${host}]:${port}` : `${host}:${port}`,
    set: (name, type, records) => zone.put(name, type, [records]),
    setInTurn: (name, type, answers) => zone.put(name, type, answers),
    remove: (name) => zone.remove(name),
    fail: (name, failure) => zone.fail(name, failure),
    truncate: (name) => zone.truncated.add(name.toLowerCase()),
    asked: (name, type) => zone.asked(name, type),
  }
}

/** Binds the same port for UDP and TCP. */
async function bindBoth(host: string) {
  for (let tries = 0; tries < 50; tries++) {
    const udp = createSocket(host.includes(':') ? 'udp6' : 'udp4')
    await new Promise<void>((resolve, reject) => {
      udp.once('error', reject)
      udp.bind(0, host, resolve)
    })
    const tcp = createServer()
    const free = await new Promise<boolean>((resolve) => {
      tcp.once('error', () => resolve(false))
      tcp.listen((udp.address() as AddressInfo).port, host, () => resolve(true))
    })
    if (free) return { udp, tcp }
    udp.close()
  }
  throw new Error('no port is free for both UDP and TCP')
}

type Answers = readonly (readonly RecordData[])[]

class Zone {
  readonly #names = new Map<string, Map<RecordType, { answers: Answers; next: number }>>()
  readonly #failures = new Map<string, DnsFailure>()
  readonly #asked: { name: string; type: string }[] = []
  readonly #followCnames: boolean
  readonly truncated = new Set<string>()

  constructor(followCnames: boolean) {
    this.#followCnames = followCnames
  }

  put(name: string, type: RecordType, answers: Answers): void {
    const key = name.toLowerCase()
    const types = this.#names.get(key) ?? new Map()
    types.set(type, { answers, next: 0 })
    this.#names.set(key, types)
  }

  remove(name: string): void {
    this.#names.delete(name.toLowerCase())
  }

  fail(name: string, failure: DnsFailure | null): void {
    if (failure === null) this.#failures.delete(name.toLowerCase())
    else this.#failures.set(name.toLowerCase(), failure)
  }

  asked(name: string, type?: RecordType): number {
    return this.#asked.filter(
      (each) => each.name === name.toLowerCase() && (type === undefined || each.type === type),
    ).length
  }

  /** @returns undefined for no response */
  answer(message: Buffer, over: 'udp' | 'tcp'): Buffer | undefined {
    const query = packet.decode(message)
    const question = query.questions?.[0]
    if (question === undefined) return undefined
    const name = question.name.toLowerCase()
    this.#asked.push({ name, type: question.type })
    const failure = this.#failures.get(name) ?? this.#failures.get('*')
    if (failure === 'silence') return undefined
    const truncated = over === 'udp' && this.truncated.has(name)
    const { answers, code } = failure
      ? { answers: [], code: RCODES[failure] }
      : this.#resolve(question.name, question.type as RecordType)
    return packet.encode({
      type: 'response',
      id: query.id ?? 0,
      flags:
        packet.RECURSION_DESIRED |
        packet.RECURSION_AVAILABLE |
        (truncated ? packet.TRUNCATED_RESPONSE : 0) |
        code,
      questions: [question],
      answers: truncated ? [] : answers,
    })
  }

  #resolve(first: string, type: RecordType) {
    const answers: packet.Answer[] = []
    let name = first
    for (let step = 0; step < LONGEST_CHAIN; step++) {
      const types = this.#typesOf(name.toLowerCase())
      if (types === undefined) return { answers, code: RCODES.NXDOMAIN }
      const target = types.get('CNAME')
      if (target === undefined || type === 'CNAME') {
        const found = types.get(type)
        const records = found === undefined ? [] : inTurn(found)
        answers.push(...records.map((data) => answerOf(name, type, data)))
        return { answers, code: RCODES.NOERROR }
      }
      const [next] = inTurn(target)
      answers.push(answerOf(name, 'CNAME', next as RecordData))
      if (!this.#followCnames) return { answers, code: RCODES.NOERROR }
      name = String(next)
    }
    return { answers: [], code: RCODES.SERVFAIL }
  }

  /** The records of a name, of an empty non-terminal (a name with others below it), or of a wildcard. */
  #typesOf(name: string) {
    const own = this.#names.get(name)
    if (own !== undefined) return own
    if ([...this.#names.keys()].some((each) => each.endsWith(`.${name}`))) return new Map()
    for (let rest = name; rest.includes('.'); ) {
      rest = rest.slice(rest.indexOf('.') + 1)
      const wildcard = this.#names.get(`*.${rest}`)
      if (wildcard !== undefined) return wildcard
      if (this.#names.has(rest)) return undefined
    }
    return undefined
  }
}

function inTurn(found: { answers: Answers; next: number }): readonly RecordData[] {
  const answer = found.answers[Math.min(found.next, found.answers.length - 1)] ?? []
  found.next++
  return answer
}

function answerOf(name: string, type: RecordType, data: RecordData): packet.Answer {
  const strings = typeof data === 'string' ? [data] : [...data]
  if (type === 'TXT') return { name, type, ttl: 300, data: strings }
  return { name, type, ttl: 300, data: strings[0] ?? '' } as packet.Answer
}
