import { type Perspective, ProofAbsent } from '../../http/outbound/perspective.ts'
import { chatKind } from './chat-kind.ts'
import { askJson, ownString, platformPerspective, unexpectedResponse } from './json-answer.ts'
import { assertForm, extractHandle, parseDomain } from './parse-handle.ts'

const FORM = /^[^\s/:?#@]+\.[^\s/:?#@]+$/
const ADDRESS = /^(?:https?:\/\/)?bsky\.app\/profile\/([^/?#]+)\/?$/i
/** The handle that the API returns if the account's domain no longer names it. */
const INVALID_HANDLE = 'handle.invalid'

/** An account on Bluesky or another service of the AT Protocol. */
export const bluesky = chatKind(
  {
    id: 'bluesky',
    label: 'Bluesky',
    proves: 'The agent has this account on Bluesky.',
    field: {
      label: 'Handle',
      placeholder: 'name.bsky.social',
      hint: 'The handle on the profile, such as name.bsky.social or example.com.',
    },
    // https://atproto.com/specs/handle: a handle is a domain name.
    parse(text) {
      const handle = extractHandle(text, ADDRESS)
      const hint = 'A handle on Bluesky is a name like name.bsky.social or example.com.'
      assertForm(handle, FORM, hint)
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
  const answer = await askJson(platformPerspective(from), url)
  if (answer.status === 400 && isUnknownProfile(answer.body)) {
    throw new ProofAbsent(`Bluesky shows no account with the handle ${handle}.`)
  }
  const shown = ownString(answer.body, 'handle')
  if (answer.status !== 200 || shown === null) throw unexpectedResponse(url, answer)
  if (shown === INVALID_HANDLE || shown.toLowerCase() !== handle) {
    throw new ProofAbsent(`The handle ${handle} does not name an account on Bluesky any more.`)
  }
  return [ownString(answer.body, 'description') ?? '']
}

/** Suspended and deactivated accounts have their own error codes; an unknown handle is an InvalidRequest. */
function isUnknownProfile(body: unknown): boolean {
  const error = ownString(body, 'error')
  if (error === 'AccountTakedown' || error === 'AccountDeactivated') return true
  return error === 'InvalidRequest' && ownString(body, 'message') === 'Profile not found'
}
