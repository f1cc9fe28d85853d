import { Client } from 'undici'
import { type ConnectRules, guardedConnect } from './guarded-connect.ts'
import { type Page, Unreachable } from './perspective.ts'
import { inTime } from './timeout.ts'

/** What a fetch works with. */
export interface FetchRules extends ConnectRules {
  readonly userAgent: string
  /** For all of it: look-ups, connections, redirects, the page. */
  readonly timeLimitMs: number
}

const SIZE_LIMIT = 64 * 1024
const HEADER_LIMIT = 16 * 1024
const REDIRECTS = 3
const REDIRECT_STATUSES = [301, 302, 303, 307, 308]

/** As URL spells names, two labels at least, the last no number: neither `localhost` nor any spelling of an address. */
const HOST_NAME =
  /^(?=.{4,253}$)(?:[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9_])?\.)+[a-z][a-z0-9-]{0,61}[a-z0-9]$/

/**
 * Fetches a page under the rules of `Perspective.get`. Every hop looks the host up anew and has a connection of its
 * own, so that no connection outlives the check of its address.
 * @param end ends it before its time
 * @throws ProofAbsent, Unreachable
 */
export async function fetchPage(
  url: URL,
  accept: string,
  rules: FetchRules,
  end: AbortSignal,
): Promise<Page> {
  const signal = AbortSignal.any([end, AbortSignal.timeout(rules.timeLimitMs)])
  let place = url
  for (let redirects = 0; redirects <= REDIRECTS; redirects++) {
    requireAllowed(place)
    const answer = await inTime(place.hostname, signal, ask(place, accept, rules, signal))
    if (!('location' in answer)) return answer
    place = redirected(place, answer.location)
  }
  throw new Unreachable(`${url.hostname} redirects more than ${REDIRECTS} times.`)
}

/** @throws Unreachable where a URL is none that is fetched */
function requireAllowed({ protocol, hostname, port, username, password }: URL): void {
  if (protocol !== 'https:') throw new Unreachable(`${hostname} is only asked over https.`)
  if (port !== '') throw new Unreachable(`${hostname} is only asked on the usual port of https.`)
  if (username !== '' || password !== '') {
    throw new Unreachable(`${hostname} is not asked with a user name or a password.`)
  }
  if (!HOST_NAME.test(hostname)) {
    throw new Unreachable(`${hostname} is not the name of a host on the public internet.`)
  }
}

/** @throws Unreachable where it leads to another host */
function redirected(from: URL, location: string): URL {
  const to = URL.parse(location, from.href)
  if (to === null) throw new Unreachable(`${from.hostname} redirects to what is no address.`)
  if (to.hostname !== from.hostname) {
    throw new Unreachable(`${from.hostname} redirects to another host, which is not followed.`)
  }
  return to
}

/** One request over one connection. */
async function ask(
  url: URL,
  accept: string,
  rules: FetchRules,
  signal: AbortSignal,
): Promise<Page | { location: string }> {
  const socket = await guardedConnect(url.hostname, rules, signal)
  const client = clientOver(url, socket)
  try {
    const { statusCode, headers, body } = await client.request({
      method: 'GET',
      path: `${url.pathname}${url.search}`,
      headers: { accept, 'accept-encoding': 'identity', 'user-agent': rules.userAgent },
      signal,
    })
    const { location } = headers
    if (REDIRECT_STATUSES.includes(statusCode) && typeof location === 'string') return { location }
    const encoding = joined(headers['content-encoding'])
    if (encoding !== '' && encoding !== 'identity') {
      throw new Unreachable(`${url.hostname} answers compressed, which was not asked for.`)
    }
    return {
      status: statusCode,
      mediaType: (joined(headers['content-type']).split(';')[0] as string).trim().toLowerCase(),
      text: await body.text(),
    }
  } finally {
    await client.destroy()
    // The client may have ended before it took it.
    socket.destroy()
  }
}

function joined(header: string | readonly string[] | undefined): string {
  return [header ?? []].flat().join(', ')
}

/** A client that has this connection and gets no second one. */
function clientOver(url: URL, socket: Awaited<ReturnType<typeof guardedConnect>>): Client {
  let given = false
  return new Client(url.origin, {
    connect(_options, callback) {
      const refused = given ? new Unreachable(`${url.hostname} closes the connection.`) : null
      given = true
      // Not at once: undici would go on before it knows that it is connected.
      queueMicrotask(() => (refused ? callback(refused, null) : callback(null, socket)))
    },
    maxHeaderSize: HEADER_LIMIT,
    maxResponseSize: SIZE_LIMIT,
    pipelining: 1,
    allowH2: false,
  })
}
