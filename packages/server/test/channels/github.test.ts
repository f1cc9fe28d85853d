import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { type SitePage, startHttpsSite } from '../../../../test/support/https-site.ts'
import {
  assertProves,
  assertProvesNothing,
  assertReason,
  assertTokenNotSent,
  json,
  startChatFixture,
  textOf,
  UNUSABLE,
} from './support/chat-fixture.ts'

/** A user as https://api.github.com returns it. */
const user = (bio: unknown, login = 'Travel-Desk', type = 'User') =>
  json({
    login,
    id: 583231,
    node_id: 'MDQ6VXNlcjU4MzIzMQ==',
    avatar_url: 'https://avatars.githubusercontent.com/u/583231?v=4',
    url: `https://api.github.com/users/${login}`,
    html_url: `https://github.com/${login}`,
    type,
    user_view_type: 'public',
    site_admin: false,
    name: 'Travel desk',
    company: '@example',
    blog: 'https://example.com',
    location: 'Berlin',
    email: null,
    hireable: null,
    bio,
    twitter_username: null,
    public_repos: 8,
    public_gists: 8,
    followers: 1,
    following: 0,
    created_at: '2011-01-25T18:44:36Z',
    updated_at: '2026-01-22T12:14:03Z',
  })

const gist = (description: unknown, login = 'Travel-Desk', isPublic = true) => ({
  url: 'https://api.github.com/gists/6cad326836d38bd3a7ae',
  id: '6cad326836d38bd3a7ae',
  html_url: 'https://gist.github.com/6cad326836d38bd3a7ae',
  files: { 'proof.md': { filename: 'proof.md', type: 'text/markdown', size: 8 } },
  public: isPublic,
  created_at: '2026-01-22T12:14:03Z',
  description,
  comments: 0,
  user: null,
  owner: { login, id: 583231, type: 'User', site_admin: false },
  truncated: false,
})

const NOT_FOUND = json(
  {
    message: 'Not Found',
    documentation_url: 'https://docs.github.com/rest/users/users#get-a-user',
    status: '404',
  },
  404,
)

const RATE_LIMIT = json(
  {
    message: "API rate limit exceeded for 192.0.2.1. (But here's the good news: …)",
    documentation_url:
      'https://docs.github.com/rest/overview/resources-in-the-rest-api#rate-limiting',
  },
  403,
)

async function startWithChat(t: TestContext) {
  const site = await startHttpsSite(t, ['api.github.com'])
  return {
    ...(await startChatFixture(t, [site])),
    site,
    serveUser: (page: SitePage) => site.serve('/users/travel-desk', page),
    serveGists: (page: SitePage) => site.serve('/users/travel-desk/gists', page),
  }
}

test('a text in the bio proves an account on GitHub, of a person or an organization', async (t) => {
  const { site, serveUser, ...rest } = await startWithChat(t)
  await rest.agent.assertHandleRefused('github', 'travel-desk/gists')
  const channel = await rest.agent.add('github', 'https://github.com/Travel-Desk')
  assert.deepEqual(
    [channel.handleOrDomain, channel.link],
    ['travel-desk', 'https://github.com/travel-desk'],
  )
  serveUser(user(`Books flights. ${textOf(channel)}`, 'Travel-Desk', 'Organization'))
  await assertProves(rest, channel, '@travel-desk')
  assert.deepEqual(
    [...new Set(site.requests.map(({ url }) => url))],
    ['/users/travel-desk'],
    'the gists were not asked for',
  )
  assert.ok(site.requests.every(({ headers }) => (headers['user-agent'] ?? '') !== ''))
  assertTokenNotSent([site], textOf(channel))
})

test('a text in the description of a public gist proves it, and later checks read only gists', async (t) => {
  const { site, serveUser, serveGists, ...rest } = await startWithChat(t)
  const channel = await rest.agent.add('github', 'travel-desk')
  serveUser(user(null))
  serveGists(json([gist('notes'), gist(null), gist(textOf(channel))]))
  await assertProves(rest, channel, '@travel-desk')
  const asked = site.requests.map(({ url }) => url)
  const gists = '/users/travel-desk/gists?per_page=10'
  assert.deepEqual(asked, ['/users/travel-desk', gists, gists])
  // The profile was not the method that proved it.
  serveUser(user(textOf(channel)))
  serveGists(json([]))
  assert.equal((await rest.agent.check(channel)).outcome, 'absent')
})

test('no other response for the account proves anything', async (t) => {
  const { serveUser, serveGists, agent, otherOwnersAgent } = await startWithChat(t)
  const channel = await agent.add('github', 'travel-desk')
  const other = textOf(await (await otherOwnersAgent()).add('github', 'travel-desk'))
  serveGists(json([]))
  await assertProvesNothing(agent, channel, serveUser, {
    absent: {
      'no bio': () => user(null),
      'a bio of another type': (text) => user([text]),
      'another bio': () => user('Books flights.'),
      'part of a longer word': (text) => user(`${text}x`),
      'part of an address': (text) => user(`https://example.com/${text}`),
      'another agent’s text': () => user(other),
      'another account': (text) => user(text, 'other-desk'),
      nobody: () => NOT_FOUND,
    },
    unreachable: {
      'the rate limit': () => RATE_LIMIT,
      'the bio of nobody': (text) => json({ bio: text }),
      'an account of another type': (text) => json({ login: ['travel-desk'], bio: text }),
      ...UNUSABLE,
    },
  })
})

test('the owner sees that GitHub’s rate limit was reached', async (t) => {
  const { serveUser, agent } = await startWithChat(t)
  const channel = await agent.add('github', 'travel-desk')
  serveUser(RATE_LIMIT)
  await assertReason(agent, channel, /GitHub .* asked too often/)
  serveUser(json({ message: 'You have exceeded a secondary rate limit.' }, 429))
  await assertReason(agent, channel, /api\.github\.com .* asked too often .* later/)
})

test('no other response for the gists proves anything', async (t) => {
  const { serveUser, serveGists, agent } = await startWithChat(t)
  const channel = await agent.add('github', 'travel-desk')
  serveUser(user(null))
  await assertProvesNothing(agent, channel, serveGists, {
    absent: {
      'no gists': () => json([]),
      'another description': () => json([gist('notes')]),
      'a gist of somebody else': (text) => json([gist(text, 'other-desk')]),
      'a secret gist': (text) => json([gist(text, 'travel-desk', false)]),
      'in a file': (text) => json([{ ...gist('notes'), files: { [text]: { content: text } } }]),
      'gists of another type': (text) => json([null, 1, text, [text], { description: text }]),
      nobody: () => NOT_FOUND,
    },
    unreachable: { 'the rate limit': () => RATE_LIMIT, 'no list': () => json({}), ...UNUSABLE },
  })
})
