import { type Perspective, ProofAbsent, Unreachable } from '../../http/outbound/perspective.ts'
import { chatKind } from './chat-kind.ts'
import { textOfHtml } from './html.ts'
import { askJson, ownProperty, ownString, unexpectedResponse } from './json-answer.ts'
import { InvalidHandleError } from './kind.ts'
import { assertForm, parseDomain, trimmed } from './parse-handle.ts'

/** Mastodon's characters for usernames, in lengths up to what other servers of the fediverse allow. */
const ACCOUNT = /^[a-z0-9_](?:[a-z0-9_.-]{0,62}[a-z0-9_])?@[^\s/:?#@]+$/i
/** Profile URLs: https://server/@user, and https://server/@user@other for an account of another server. */
const ADDRESS = /^https?:\/\/([^\s/?#@:]+)\/(@[^\s/?#@]+)(@[^\s/?#@]+)?\/?$/i

/** An account on Mastodon or another fediverse server with the same API. */
export const mastodon = chatKind(
  {
    id: 'mastodon',
    label: 'Mastodon',
    proves: 'The agent has this account on Mastodon, or on another server of the fediverse.',
    field: {
      label: 'Handle',
      placeholder: '@name@mastodon.social',
      hint: 'The full handle with its server, or the address of the profile.',
    },
    parse(text) {
      const account = withoutAt(fromAddress(trimmed(text)))
      assertForm(
        account,
        ACCOUNT,
        'A handle on Mastodon is a name and a server, such as @name@mastodon.social.',
      )
      const [user = '', server = ''] = account.split('@')
      return `@${user.toLowerCase()}@${parseDomain(server)}`
    },
    link: (handle) => {
      const { user, server } = partsOf(handle)
      return `https://${server}/@${user}`
    },
  },
  [
    {
      id: 'profile',
      title: 'In the profile',
      name: 'the bio or a field of the profile',
      step: 'On your server, open Preferences, "Public profile" and paste the text into "Bio", or into the content of an extra field, then save.',
      read: readProfile,
    },
  ],
)

function fromAddress(text: string): string {
  const [, server, user = '', elsewhere] = ADDRESS.exec(text) ?? []
  return server === undefined ? text : `${user}${elsewhere ?? `@${server}`}`
}

function withoutAt(text: string): string {
  return text.replace(/^@/, '')
}

function partsOf(handle: string) {
  const [user = '', server = ''] = withoutAt(handle).split('@')
  return { user, server }
}

/** https://docs.joinmastodon.org/methods/accounts/#lookup */
async function readProfile(from: Perspective, handle: string): Promise<string[]> {
  const { user, server } = partsOf(handle)
  const home = await resolveHomeServer(from, user, server)
  const url = new URL(`https://${home}/api/v1/accounts/lookup`)
  url.searchParams.set('acct', user)
  const answer = await askJson(from, url)
  const { status, body } = answer
  if ((status === 404 || status === 410) && ownString(body, 'error') !== null) {
    throw new ProofAbsent(`${home} shows no account ${handle}.`)
  }
  if (status === 401 || status === 403 || status === 422) {
    throw new Unreachable(
      `${home} does not show its profiles to everybody, so nothing can be checked.`,
    )
  }
  const username = ownString(body, 'username')
  const acct = ownString(body, 'acct')
  if (status !== 200 || username === null || acct === null) throw unexpectedResponse(url, answer)
  // A server omits its own name from the `acct` of local accounts; with a server name it is a remote account.
  if (username.toLowerCase() !== user || acct.toLowerCase() !== user) {
    throw new ProofAbsent(`${home} shows another account in the place of ${handle}.`)
  }
  assertActive(body, handle)
  return textsOf(body)
}

/** https://docs.joinmastodon.org/entities/Account/ */
function assertActive(body: unknown, handle: string): void {
  if (ownProperty(body, 'suspended') === true) throw new ProofAbsent(`${handle} is suspended.`)
  if ((ownProperty(body, 'moved') ?? null) !== null)
    throw new ProofAbsent(`${handle} has moved elsewhere.`)
}

function textsOf(body: unknown): Promise<string[]> {
  const fields = ownProperty(body, 'fields')
  const values = Array.isArray(fields) ? fields.map((field) => ownString(field, 'value')) : []
  const all = [ownString(body, 'note'), ...values]
  return Promise.all(all.map((html) => textOfHtml(html ?? '')))
}

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
async function resolveHomeServer(from: Perspective, user: string, server: string): Promise<string> {
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
