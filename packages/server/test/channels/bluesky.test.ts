import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { type SitePage, startHttpsSite } from '../../../../test/support/https-site.ts'
import {
  assertProves,
  assertProvesNothing,
  assertTokenKept,
  chatScene,
  json,
  textOf,
  UNREADABLE,
} from './support/chat-scene.ts'

const PATH = '/xrpc/app.bsky.actor.getProfile'

/** As https://public.api.bsky.app answers. */
const profile = (description?: string, handle = 'desk.bsky.social') =>
  json({
    did: 'did:plc:z72i7hdynmk6r22z27h6tvur',
    handle,
    displayName: 'Travel desk',
    avatar: 'https://cdn.bsky.app/img/avatar/plain/did:plc:z72i7hdynmk6r22z27h6tvur/x@jpeg',
    associated: { lists: 0, feedgens: 0, starterPacks: 0, labeler: false },
    labels: [],
    createdAt: '2023-04-12T04:53:57.057Z',
    ...(description !== undefined && { description }),
    indexedAt: '2024-01-20T05:09:21.543Z',
    followersCount: 1,
    followsCount: 2,
    postsCount: 3,
  })

const failure = (error: string, message: string) => json({ error, message }, 400)

async function scene(t: TestContext) {
  const site = await startHttpsSite(t, ['public.api.bsky.app'])
  const serve = (page: SitePage) => site.serve(PATH, page)
  return { ...(await chatScene(t, [site])), site, serve }
}

test('a text in the description proves an account on Bluesky', async (t) => {
  const { site, serve, ...rest } = await scene(t)
  await rest.agent.refuses('bluesky', 'desk.bsky.social/../x')
  const channel = await rest.agent.add('bluesky', '@Desk.bsky.social')
  assert.deepEqual(
    [channel.handleOrDomain, channel.link],
    ['desk.bsky.social', 'https://bsky.app/profile/desk.bsky.social'],
  )
  serve(profile(`Books flights.\n\n${textOf(channel)}`))
  await assertProves(rest, channel, '@desk.bsky.social')
  assert.ok(site.requests.every(({ url }) => url === `${PATH}?actor=desk.bsky.social`))
  assertTokenKept([site], textOf(channel))
})

test('what Bluesky answers otherwise proves nothing', async (t) => {
  const { serve, agent, newcomer } = await scene(t)
  const channel = await agent.add('bluesky', 'desk.bsky.social')
  const other = textOf(await (await newcomer()).add('bluesky', 'desk.bsky.social'))
  await assertProvesNothing(agent, channel, serve, {
    absent: {
      'no description': () => profile(),
      'another description': () => profile('Books flights.'),
      'a description of another type': () => json({ handle: 'desk.bsky.social', description: {} }),
      'part of a longer word': (text) => profile(`x${text}`),
      'another agent’s text': () => profile(other),
      'another account': (text) => profile(text, 'other.bsky.social'),
      'a handle that is lost': (text) => profile(text, 'handle.invalid'),
      nobody: () => failure('InvalidRequest', 'Profile not found'),
      suspended: () => failure('AccountTakedown', 'Account has been suspended'),
      deactivated: () => failure('AccountDeactivated', 'Account is deactivated'),
    },
    unreachable: {
      'another refusal': () => failure('InvalidRequest', 'Error: actor must be a valid did'),
      'a text without an account': (text) => json({ description: text }),
      ...UNREADABLE,
    },
  })
})

test('a resolver that denies Bluesky itself says nothing of an account', async (t) => {
  const { dns, agent } = await scene(t)
  const channel = await agent.add('bluesky', 'desk.bsky.social')
  dns.remove('public.api.bsky.app')
  assert.equal((await agent.check(channel)).outcome, 'unreachable')
})
