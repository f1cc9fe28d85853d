import { type Perspective, ProofAbsent, Unreachable } from '../../core/network/perspective.ts'
import { chatKind } from './chat-kind.ts'
import {
  askJson,
  type JsonAnswer,
  ofKnownHost,
  own,
  ownText,
  unknownAnswer,
} from './json-answer.ts'
import { bareHandle, requireForm } from './names.ts'

/** Letters, digits and single hyphens, none of them at either end, as the form of GitHub's sign-up has it. */
const LOGIN = /^(?=.{1,39}$)[a-z0-9]+(?:-[a-z0-9]+)*$/
const ADDRESS = /^(?:https?:\/\/)?(?:www\.)?github\.com\/([^/?#]+)\/?$/i
const MEDIA_TYPE = 'application/vnd.github+json'
/** So many gists stay below what is read of an answer. */
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
      const login = bareHandle(text, ADDRESS).toLowerCase()
      requireForm(
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
  const shown = ownText(answer.body, 'login')
  if (shown === null) throw unknownAnswer(url, answer)
  if (shown.toLowerCase() !== login) {
    throw new ProofAbsent(`GitHub shows another account in the place of ${login}.`)
  }
  return [ownText(answer.body, 'bio') ?? '']
}

/** https://docs.github.com/en/rest/gists/gists#list-gists-for-a-user */
async function readGists(from: Perspective, login: string): Promise<string[]> {
  const url = new URL(`https://api.github.com/users/${login}/gists`)
  url.searchParams.set('per_page', String(GISTS_READ))
  const answer = await ask(from, url, login)
  if (!Array.isArray(answer.body)) throw unknownAnswer(url, answer)
  return answer.body
    .filter((gist) => own(gist, 'public') === true)
    .filter((gist) => ownText(own(gist, 'owner'), 'login')?.toLowerCase() === login)
    .map((gist) => ownText(gist, 'description') ?? '')
}

/** https://docs.github.com/en/rest/using-the-rest-api/rate-limits-for-the-rest-api: 403 as well as 429. */
async function ask(from: Perspective, url: URL, login: string): Promise<JsonAnswer> {
  const answer = await askJson(ofKnownHost(from), url, MEDIA_TYPE)
  if (answer.status === 404 && ownText(answer.body, 'message') === 'Not Found') {
    throw new ProofAbsent(`GitHub shows no account ${login}.`)
  }
  if (answer.status === 403) {
    throw new Unreachable('GitHub does not answer now: it has been asked too often.')
  }
  if (answer.status !== 200) throw unknownAnswer(url, answer)
  return answer
}
