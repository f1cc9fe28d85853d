import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { type SitePage, startHttpsSite } from '../../../../test/support/https-site.ts'
import {
  assertProves,
  assertProvesNothing,
  assertTokenNotSent,
  json,
  startChatFixture,
  textOf,
  UNUSABLE,
} from './support/chat-fixture.ts'

const PATH = '/xrpc/app.bsky.actor.getProfile'

/** A profile as https://public.api.bsky.app returns it. */
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

async function startWithChat(t: TestContext) {
  const site = await startHttpsSite(t, ['public.api.bsky.app'])
  const serve = (page: SitePage) => site.serve(PATH, page)
  return { ...(await startChatFixture(t, [site])), site, serve }
}

test('a text in the description proves an account on Bluesky', async (t) => {
  const { site, serve, ...rest } = await startWithChat(t)
  await rest.agent.assertHandleRefused('bluesky', 'desk.bsky.social/../x')
  const channel = await rest.agent.add('bluesky', '@Desk.bsky.social')
  assert.deepEqual(
    [channel.handleOrDomain, channel.link],
    ['desk.bsky.social', 'https://bsky.app/profile/desk.bsky.social'],
  )
  serve(profile(`Books flights.\n\n${textOf(channel)}`))
  await assertProves(rest, channel, '@desk.bsky.social')
  assert.ok(site.requests.every(({ url }) => url === `${PATH}?actor=desk.bsky.social`))
  assertTokenNotSent([site], textOf(channel))
})

test('no other response of Bluesky proves anything', async (t) => {
  const { serve, agent, otherOwnersAgent } = await startWithChat(t)
  const channel = await agent.add('bluesky', 'desk.bsky.social')
  const other = textOf(await (await otherOwnersAgent()).add('bluesky', 'desk.bsky.social'))
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
      ...UNUSABLE,
    },
  })
})

test('a resolver that denies Bluesky’s host makes the result unreachable, not absent', async (t) => {
  const { dns, agent } = await startWithChat(t)
  const channel = await agent.add('bluesky', 'desk.bsky.social')
  dns.remove('public.api.bsky.app')
  assert.equal((await agent.check(channel)).outcome, 'unreachable')
})
