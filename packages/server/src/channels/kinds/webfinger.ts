import { type Perspective, ProofAbsent, Unreachable } from '../../core/network/perspective.ts'
import { askJson, own, ownText, unknownAnswer } from './json-answer.ts'
import { HandleRefusal } from './kind.ts'
import { parseDomain } from './names.ts'

const MEDIA_TYPE = 'application/jrd+json, application/json'
/** https://docs.joinmastodon.org/spec/webfinger/ */
const ACTOR = /^application\/(?:activity\+json|ld\+json\b.*)$/i

interface Resource {
  readonly subject: string
  /** The host of the account itself. */
  readonly home: string
}

/**
 * The host at which an account of the fediverse lives: the server of its handle, or another one that both sides name.
 * @throws ProofAbsent, Unreachable
 */
export async function requireHomeOf(
  from: Perspective,
  user: string,
  server: string,
): Promise<string> {
  const { home } = await finger(from, user, server)
  if (home === server) return home
  // Anyone can point at somebody else's account: it is theirs where that account's server says so too.
  const there = await finger(from, user, home)
  if (there.home === home && there.subject === `acct:${user}@${server}`) return home
  throw new ProofAbsent(`${server} says that the account is at ${home}, which does not say so.`)
}

/** RFC 7033 */
async function finger(from: Perspective, user: string, server: string): Promise<Resource> {
  const url = new URL(`https://${server}/.well-known/webfinger`)
  url.searchParams.set('resource', `acct:${user}@${server}`)
  const answer = await askJson(from, url, MEDIA_TYPE)
  if (answer.status === 404 || answer.status === 410) {
    throw new ProofAbsent(`${server} shows no account @${user}@${server}.`)
  }
  const subject = ownText(answer.body, 'subject')
  const actor = actorOf(answer.body)
  if (answer.status !== 200 || subject === null || actor === null) throw unknownAnswer(url, answer)
  return { subject: subject.toLowerCase(), home: hostOf(actor, server) }
}

function actorOf(body: unknown): string | null {
  const links = own(body, 'links')
  if (!Array.isArray(links)) return null
  const self = links.find(
    (link) => ownText(link, 'rel') === 'self' && ACTOR.test(ownText(link, 'type') ?? ''),
  )
  return ownText(self, 'href')
}

/** @throws Unreachable where the address is not one that is fetched */
function hostOf(address: string, server: string): string {
  const url = URL.parse(address)
  const plain = url?.protocol === 'https:' && url.port === '' && url.username === ''
  try {
    if (url !== null && plain) return parseDomain(url.hostname)
  } catch (error) {
    if (!(error instanceof HandleRefusal)) throw error
  }
  throw new Unreachable(`${server} says that the account is at an address that is not looked at.`)
}
