import { type Perspective, ProofAbsent, Unreachable } from '../../core/network/perspective.ts'
import { chatKind } from './chat-kind.ts'
import { askJson, own, ownText, unknownAnswer } from './json-answer.ts'
import { HandleRefusal } from './kind.ts'
import { bareHandle, parseDomain, requireForm } from './names.ts'

/** https://spec.matrix.org/latest/appendices/#user-identifiers, with the capitals of old ones: case counts. */
const USER_ID = /^@[a-z0-9._=/+-]+:[^\s/?#@]+$/i
/** https://spec.matrix.org/latest/appendices/#matrixto-navigation */
const ADDRESS = /^(?:https?:\/\/)?matrix\.to\/#\/([^\s?#]+?)\/?$/i

/** An account on a Matrix homeserver that shows profiles to everybody. */
export const matrix = chatKind(
  {
    id: 'matrix',
    label: 'Matrix',
    proves: 'The agent has this account on Matrix.',
    field: {
      label: 'Matrix ID',
      placeholder: '@name:matrix.org',
      hint: 'The whole ID with its server. The server has to show profiles to everybody.',
    },
    parse(text) {
      const id = `@${decoded(bareHandle(text, ADDRESS)).replace(/^@/, '')}`
      requireForm(id, USER_ID, 'A Matrix ID is a name and a server, such as @name:matrix.org.')
      const colon = id.indexOf(':')
      const server = id.slice(colon + 1)
      if (/:\d+$/.test(server)) {
        throw new HandleRefusal('IDs of servers with a port in their name cannot be checked here.')
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
  const base = await requireHomeserver(from, server)
  const url = new URL(`${base}/_matrix/client/v3/profile/${encodeURIComponent(id)}`)
  const answer = await askJson(from, url)
  const { status, body } = answer
  if (status === 404 && ownText(body, 'errcode') === 'M_NOT_FOUND') {
    throw new ProofAbsent(`${server} shows no profile of ${id}.`)
  }
  if (status === 401 || status === 403) {
    throw new Unreachable(
      `${server} does not show profiles to everybody, so nothing can be checked.`,
    )
  }
  if (status !== 200 || typeof body !== 'object' || body === null || Array.isArray(body)) {
    throw unknownAnswer(url, answer)
  }
  // Since Matrix 1.16 a profile has fields of any name (MSC4133): whatever is text is the account's own.
  return Object.values(body).filter((value) => typeof value === 'string')
}

const LONGEST = 512

/**
 * Where the API of a Matrix server is, as the server says itself
 * (https://spec.matrix.org/latest/client-server-api/#well-known-uri); at its own name where it says nothing.
 * @returns an https address on the usual port, without a slash at the end
 * @throws ProofAbsent, Unreachable
 */
async function requireHomeserver(from: Perspective, server: string): Promise<string> {
  const url = new URL(`https://${server}/.well-known/matrix/client`)
  const answer = await askJson(from, url)
  if (answer.status === 404) return `https://${server}`
  const base = ownText(own(answer.body, 'm.homeserver'), 'base_url')
  if (answer.status !== 200 || base === null) throw unknownAnswer(url, answer)
  return addressOf(base, server)
}

function addressOf(base: string, server: string): string {
  const url = base.length <= LONGEST ? URL.parse(base) : null
  const plain =
    url?.protocol === 'https:' && `${url.port}${url.username}${url.search}${url.hash}` === ''
  try {
    if (url !== null && plain)
      return `https://${parseDomain(url.hostname)}${url.pathname.replace(/\/+$/, '')}`
  } catch (error) {
    if (!(error instanceof HandleRefusal)) throw error
  }
  throw new Unreachable(`${server} says that its API is at an address that is not looked at.`)
}
