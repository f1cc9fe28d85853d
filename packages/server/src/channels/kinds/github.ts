import { type Perspective, ProofAbsent, Unreachable } from '../../http/outbound/perspective.ts'
import { chatKind } from './chat-kind.ts'
import {
  askJson,
  type JsonResponse,
  ownProperty,
  ownString,
  platformPerspective,
  unexpectedResponse,
} from './json-answer.ts'
import { assertForm, extractHandle } from './parse-handle.ts'

/** The rules of GitHub's sign-up form: letters, digits and single hyphens, no hyphen at either end. */
const LOGIN = /^(?=.{1,39}$)[a-z0-9]+(?:-[a-z0-9]+)*$/
const ADDRESS = /^(?:https?:\/\/)?(?:www\.)?github\.com\/([^/?#]+)\/?$/i
const MEDIA_TYPE = 'application/vnd.github+json'
/** How many gists are read. The response must stay below 64 KiB. */
const GISTS_READ = 10

/** An account of a person or an organization on GitHub. */
export const github = chatKind(
  {
    id: 'github',
    label: 'GitHub',
    proves: 'The agent has this account on GitHub.',
    field: {
      label: 'Username',
      placeholder: 'octocat',
      hint: 'The username of a person or an organization, as in github.com/octocat.',
    },
    parse(text) {
      const login = extractHandle(text, ADDRESS).toLowerCase()
      assertForm(
        login,
        LOGIN,
        'A username on GitHub has 1 to 39 letters, digits and single hyphens between them, such as octocat.',
      )
      return login
    },
    link: (login) => `https://github.com/${login}`,
  },
  [
    {
      id: 'profile',
      title: 'In the profile',
      name: 'the bio',
      step: 'On GitHub, open Settings, "Public profile" and paste the text into "Bio" (an organization has "Description" in its settings), then save.',
      read: readBio,
    },
    {
      id: 'gist',
      title: 'In a public gist',
      name: 'the description of a recent public gist',
      step: `On gist.github.com, create a public gist with any content and paste the text into "Gist description". It has to stay among your ${GISTS_READ} newest.`,
      read: readGists,
    },
  ],
)

/** https://docs.github.com/en/rest/users/users#get-a-user */
async function readBio(from: Perspective, login: string): Promise<string[]> {
  const url = new URL(`https://api.github.com/users/${login}`)
  const answer = await ask(from, url, login)
  const shown = ownString(answer.body, 'login')
  if (shown === null) throw unexpectedResponse(url, answer)
  if (shown.toLowerCase() !== login) {
    throw new ProofAbsent(`GitHub shows another account in the place of ${login}.`)
  }
  return [ownString(answer.body, 'bio') ?? '']
}

/** https://docs.github.com/en/rest/gists/gists#list-gists-for-a-user */
async function readGists(from: Perspective, login: string): Promise<string[]> {
  const url = new URL(`https://api.github.com/users/${login}/gists`)
  url.searchParams.set('per_page', String(GISTS_READ))
  const answer = await ask(from, url, login)
  if (!Array.isArray(answer.body)) throw unexpectedResponse(url, answer)
  return answer.body
    .filter((gist) => ownProperty(gist, 'public') === true)
    .filter((gist) => ownString(ownProperty(gist, 'owner'), 'login')?.toLowerCase() === login)
    .map((gist) => ownString(gist, 'description') ?? '')
}

/** GitHub answers rate-limited requests with 403 or 429: https://docs.github.com/en/rest/using-the-rest-api/rate-limits-for-the-rest-api */
async function ask(from: Perspective, url: URL, login: string): Promise<JsonResponse> {
  const answer = await askJson(platformPerspective(from), url, MEDIA_TYPE)
  if (answer.status === 404 && ownString(answer.body, 'message') === 'Not Found') {
    throw new ProofAbsent(`GitHub shows no account ${login}.`)
  }
  if (answer.status === 403) {
    throw new Unreachable('GitHub does not answer now: it has been asked too often.')
  }
  if (answer.status !== 200) throw unexpectedResponse(url, answer)
  return answer
}
