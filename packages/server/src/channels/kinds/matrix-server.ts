import { OutOfReach, type Perspective } from '../../core/network/perspective.ts'
import { parseDomain } from './domain-name.ts'
import { askJson, own, ownText, unknownAnswer } from './json-answer.ts'
import { HandleRefusal } from './kind.ts'

const LONGEST = 512

/**
 * Where the API of a Matrix server is, as the server says itself
 * (https://spec.matrix.org/latest/client-server-api/#well-known-uri); at its own name where it says nothing.
 * @returns an https address on the usual port, without a slash at the end
 * @throws NotThere, OutOfReach
 */
export async function requireHomeserver(from: Perspective, server: string): Promise<string> {
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
  throw new OutOfReach(`${server} says that its API is at an address that is not looked at.`)
}
