import { type Perspective, ProofAbsent, Unreachable } from '../../core/network/perspective.ts'
import { chatKind } from './chat-kind.ts'
import { textOfHtml } from './html.ts'
import { askJson, own, ownText, unknownAnswer } from './json-answer.ts'
import { parseDomain, requireForm, trimmed } from './names.ts'
import { requireHomeOf } from './webfinger.ts'

/** As Mastodon has it, in any length that other servers of the fediverse allow. */
const ACCOUNT = /^[a-z0-9_](?:[a-z0-9_.-]{0,62}[a-z0-9_])?@[^\s/:?#@]+$/i
/** Of an account at home, and of one that a server shows of another. */
const ADDRESS = /^https?:\/\/([^\s/?#@:]+)\/(@[^\s/?#@]+)(@[^\s/?#@]+)?\/?$/i

/** An account on Mastodon, or on another server of the fediverse that speaks its API. */
export const mastodon = chatKind(
  {
    id: 'mastodon',
    label: 'Mastodon',
    proves: 'The agent has this account on Mastodon, or elsewhere in the fediverse.',
    field: {
      label: 'Handle',
      placeholder: '@name@mastodon.social',
      hint: 'The whole handle with its server, or the address of the profile.',
    },
    parse(text) {
      const account = withoutAt(fromAddress(trimmed(text)))
      requireForm(
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
  const home = await requireHomeOf(from, user, server)
  const url = new URL(`https://${home}/api/v1/accounts/lookup`)
  url.searchParams.set('acct', user)
  const answer = await askJson(from, url)
  const { status, body } = answer
  if ((status === 404 || status === 410) && ownText(body, 'error') !== null) {
    throw new ProofAbsent(`${home} shows no account ${handle}.`)
  }
  if (status === 401 || status === 403 || status === 422) {
    throw new Unreachable(
      `${home} does not show its profiles to everybody, so nothing can be checked.`,
    )
  }
  const username = ownText(body, 'username')
  const acct = ownText(body, 'acct')
  if (status !== 200 || username === null || acct === null) throw unknownAnswer(url, answer)
  // Of its own accounts a server leaves itself out: one with a server is another server's.
  if (username.toLowerCase() !== user || acct.toLowerCase() !== user) {
    throw new ProofAbsent(`${home} shows another account in the place of ${handle}.`)
  }
  requireActive(body, handle)
  return textsOf(body)
}

/** https://docs.joinmastodon.org/entities/Account/ */
function requireActive(body: unknown, handle: string): void {
  if (own(body, 'suspended') === true) throw new ProofAbsent(`${handle} is suspended.`)
  if ((own(body, 'moved') ?? null) !== null) throw new ProofAbsent(`${handle} has moved elsewhere.`)
}

function textsOf(body: unknown): string[] {
  const fields = own(body, 'fields')
  const values = Array.isArray(fields) ? fields.map((field) => ownText(field, 'value')) : []
  return [ownText(body, 'note'), ...values].map((html) => textOfHtml(html ?? ''))
}
