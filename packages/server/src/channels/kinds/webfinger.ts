import { type Perspective, ProofAbsent, Unreachable } from '../../http/outbound/perspective.ts'
import { askJson, ownProperty, ownString, unexpectedResponse } from './json-answer.ts'
import { InvalidHandleError } from './kind.ts'
import { parseDomain } from './names.ts'

const MEDIA_TYPE = 'application/jrd+json, application/json'
/** https://docs.joinmastodon.org/spec/webfinger/ */
const ACTOR = /^application\/(?:activity\+json|ld\+json\b.*)$/i

interface Resource {
  readonly subject: string
  /** The host of the account's ActivityPub actor. */
  readonly home: string
}

/**
 * Resolves the host that serves an account of the fediverse: the server of its handle, or another host if both confirm it.
 * @throws ProofAbsent, Unreachable
 */
export async function resolveHomeServer(
  from: Perspective,
  user: string,
  server: string,
): Promise<string> {
  const { home } = await queryWebFinger(from, user, server)
  if (home === server) return home
  // Any server can point at another server's account, so that server has to confirm the handle.
  const there = await queryWebFinger(from, user, home)
  if (there.home === home && there.subject === `acct:${user}@${server}`) return home
  throw new ProofAbsent(`${server} says that the account is at ${home}, which does not say so.`)
}

/** Sends a WebFinger query (RFC 7033). */
async function queryWebFinger(from: Perspective, user: string, server: string): Promise<Resource> {
  const url = new URL(`https://${server}/.well-known/webfinger`)
  url.searchParams.set('resource', `acct:${user}@${server}`)
  const answer = await askJson(from, url, MEDIA_TYPE)
  if (answer.status === 404 || answer.status === 410) {
    throw new ProofAbsent(`${server} shows no account @${user}@${server}.`)
  }
  const subject = ownString(answer.body, 'subject')
  const actor = actorOf(answer.body)
  if (answer.status !== 200 || subject === null || actor === null)
    throw unexpectedResponse(url, answer)
  return { subject: subject.toLowerCase(), home: hostOf(actor, server) }
}

function actorOf(body: unknown): string | null {
  const links = ownProperty(body, 'links')
  if (!Array.isArray(links)) return null
  const self = links.find(
    (link) => ownString(link, 'rel') === 'self' && ACTOR.test(ownString(link, 'type') ?? ''),
  )
  return ownString(self, 'href')
}

/** @throws Unreachable if the actor's URL is not https on port 443 at a public domain */
function hostOf(address: string, server: string): string {
  const url = URL.parse(address)
  const plain = url?.protocol === 'https:' && url.port === '' && url.username === ''
  try {
    if (url !== null && plain) return parseDomain(url.hostname)
  } catch (error) {
    if (!(error instanceof InvalidHandleError)) throw error
  }
  throw new Unreachable(`${server} says that the account is at an address that is not looked at.`)
}
