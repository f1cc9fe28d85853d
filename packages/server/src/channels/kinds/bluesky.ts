import { type Perspective, ProofAbsent } from '../../core/network/perspective.ts'
import { chatKind } from './chat-kind.ts'
import { askJson, ofKnownHost, ownText, unknownAnswer } from './json-answer.ts'
import { bareHandle, parseDomain, requireForm } from './names.ts'

const FORM = /^[^\s/:?#@]+\.[^\s/:?#@]+$/
const ADDRESS = /^(?:https?:\/\/)?bsky\.app\/profile\/([^/?#]+)\/?$/i
/** What the API says for a handle whose domain no longer names the account. */
const INVALID = 'handle.invalid'

/** An account on Bluesky, or elsewhere on the AT Protocol. */
export const bluesky = chatKind(
  {
    id: 'bluesky',
    label: 'Bluesky',
    proves: 'The agent has this account on Bluesky.',
    field: {
      label: 'Handle',
      placeholder: 'name.bsky.social',
      hint: 'The handle as it stands on the profile, such as name.bsky.social or example.com.',
    },
    // https://atproto.com/specs/handle: a handle is a domain name.
    parse(text) {
      const handle = bareHandle(text, ADDRESS)
      const hint = 'A handle on Bluesky is a name like name.bsky.social or example.com.'
      requireForm(handle, FORM, hint)
      return parseDomain(handle)
    },
    link: (handle) => `https://bsky.app/profile/${handle}`,
  },
  [
    {
      id: 'profile',
      title: 'In the profile',
      name: 'the description of the profile',
      step: 'On Bluesky, open your profile, choose "Edit profile", paste the text into "Description" and save.',
      read: readProfile,
    },
  ],
)

/** https://docs.bsky.app/docs/api/app-bsky-actor-get-profile */
async function readProfile(from: Perspective, handle: string): Promise<string[]> {
  const url = new URL('https://public.api.bsky.app/xrpc/app.bsky.actor.getProfile')
  url.searchParams.set('actor', handle)
  const answer = await askJson(ofKnownHost(from), url)
  if (answer.status === 400 && saysNobody(answer.body)) {
    throw new ProofAbsent(`Bluesky shows no account with the handle ${handle}.`)
  }
  const shown = ownText(answer.body, 'handle')
  if (answer.status !== 200 || shown === null) throw unknownAnswer(url, answer)
  if (shown === INVALID || shown.toLowerCase() !== handle) {
    throw new ProofAbsent(`The handle ${handle} does not name an account on Bluesky any more.`)
  }
  return [ownText(answer.body, 'description') ?? '']
}

/** Suspended and deactivated accounts have errors of their own; an unknown handle is an invalid request. */
function saysNobody(body: unknown): boolean {
  const error = ownText(body, 'error')
  if (error === 'AccountTakedown' || error === 'AccountDeactivated') return true
  return error === 'InvalidRequest' && ownText(body, 'message') === 'Profile not found'
}
