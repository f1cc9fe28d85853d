import { type Perspective, ProofAbsent, Unreachable } from '../../http/outbound/perspective.ts'
import { chatKind } from './chat-kind.ts'
import { askJson, ownProperty, ownString, unexpectedResponse } from './json-answer.ts'
import { InvalidHandleError } from './kind.ts'
import { assertForm, extractHandle, parseDomain } from './parse-handle.ts'

/** https://spec.matrix.org/latest/appendices/#user-identifiers, including the upper-case letters of historical IDs; case matters. */
const USER_ID = /^@[a-z0-9._=/+-]+:[^\s/?#@]+$/i
/** https://spec.matrix.org/latest/appendices/#matrixto-navigation */
const ADDRESS = /^(?:https?:\/\/)?matrix\.to\/#\/([^\s?#]+?)\/?$/i

/** An account on a Matrix homeserver with public profiles. */
export const matrix = chatKind(
  {
    id: 'matrix',
    label: 'Matrix',
    proves: 'The agent has this account on Matrix.',
    field: {
      label: 'Matrix ID',
      placeholder: '@name:matrix.org',
      hint: 'The full ID with its server. The server must show profiles publicly.',
    },
    parse(text) {
      const id = `@${decoded(extractHandle(text, ADDRESS)).replace(/^@/, '')}`
      assertForm(id, USER_ID, 'A Matrix ID is a name and a server, such as @name:matrix.org.')
      const colon = id.indexOf(':')
      const server = id.slice(colon + 1)
      if (/:\d+$/.test(server)) {
        throw new InvalidHandleError(
          'IDs of servers with a port in their name cannot be checked here.',
        )
      }
      return `${id.slice(0, colon)}:${parseDomain(server)}`
    },
    link: (id) => `https://matrix.to/#/${encodeURIComponent(id)}`,
  },
  [
    {
      id: 'profile',
      title: 'In the profile',
      name: 'the profile',
      step: 'In your Matrix app, open the settings of your account and paste the text into "Display name", after the name, or into another text of your public profile, then save.',
      read: readProfile,
    },
  ],
)

function decoded(text: string): string {
  try {
    return decodeURIComponent(text)
  } catch {
    return text
  }
}

/** https://spec.matrix.org/latest/client-server-api/#get_matrixclientv3profileuserid */
async function readProfile(from: Perspective, id: string): Promise<string[]> {
  const server = id.slice(id.indexOf(':') + 1)
  const base = await discoverHomeserver(from, server)
  const url = new URL(`${base}/_matrix/client/v3/profile/${encodeURIComponent(id)}`)
  const answer = await askJson(from, url)
  const { status, body } = answer
  if (status === 404 && ownString(body, 'errcode') === 'M_NOT_FOUND') {
    throw new ProofAbsent(`${server} shows no profile of ${id}.`)
  }
  if (status === 401 || status === 403) {
    throw new Unreachable(
      `${server} does not show profiles to everybody, so nothing can be checked.`,
    )
  }
  if (status !== 200 || typeof body !== 'object' || body === null || Array.isArray(body)) {
    throw unexpectedResponse(url, answer)
  }
  // Since Matrix 1.16 profiles have custom fields (MSC4133), and only the account itself can set them.
  return Object.values(body).filter((value) => typeof value === 'string')
}

const MAX_BASE_URL_LENGTH = 512

/**
 * Discovers the base URL of a Matrix server's API
 * (https://spec.matrix.org/latest/client-server-api/#well-known-uri). Without a discovery file it is the server's own name.
 * @returns an https URL on port 443, without a trailing slash
 * @throws ProofAbsent, Unreachable
 */
async function discoverHomeserver(from: Perspective, server: string): Promise<string> {
  const url = new URL(`https://${server}/.well-known/matrix/client`)
  const answer = await askJson(from, url)
  if (answer.status === 404) return `https://${server}`
  const base = ownString(ownProperty(answer.body, 'm.homeserver'), 'base_url')
  if (answer.status !== 200 || base === null) throw unexpectedResponse(url, answer)
  return parseBaseUrl(base, server)
}

function parseBaseUrl(base: string, server: string): string {
  const url = base.length <= MAX_BASE_URL_LENGTH ? URL.parse(base) : null
  const plain =
    url?.protocol === 'https:' && `${url.port}${url.username}${url.search}${url.hash}` === ''
  try {
    if (url !== null && plain)
      return `https://${parseDomain(url.hostname)}${url.pathname.replace(/\/+$/, '')}`
  } catch (error) {
    if (!(error instanceof InvalidHandleError)) throw error
  }
  throw new Unreachable(`${server} says that its API is at an address that is not looked at.`)
}
