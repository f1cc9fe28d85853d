import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import {
  type HttpsSite,
  type SitePage,
  startHttpsSite,
} from '../../../../test/support/https-site.ts'
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

const HANDLE = '@desk@social.example.com'
const FINGER = '/.well-known/webfinger'
const LOOKUP = '/api/v1/accounts/lookup'

/** A WebFinger response as Mastodon returns it. */
const finger = (subject: string, actor: unknown) =>
  json(
    {
      subject,
      aliases: ['https://social.example.com/@Desk', 'https://social.example.com/users/Desk'],
      links: [
        {
          rel: 'http://webfinger.net/rel/profile-page',
          type: 'text/html',
          href: 'https://social.example.com/@Desk',
        },
        { rel: 'self', type: 'application/activity+json', href: actor },
        {
          rel: 'http://ostatus.org/schema/1.0/subscribe',
          template: 'https://social.example.com/authorize_interaction?uri={uri}',
        },
      ],
    },
    200,
    'application/jrd+json',
  )

const AT_HOME = finger('acct:Desk@social.example.com', 'https://social.example.com/users/Desk')

/** An account as Mastodon returns it. */
const account = (note: unknown, more: object = {}) =>
  json({
    id: '14715',
    username: 'Desk',
    acct: 'Desk',
    display_name: 'Travel desk',
    locked: false,
    bot: true,
    discoverable: true,
    group: false,
    created_at: '2016-11-24T00:00:00.000Z',
    note,
    url: 'https://social.example.com/@Desk',
    avatar: 'https://files.example.com/avatars/original/x.png',
    followers_count: 821,
    last_status_at: '2026-01-24',
    emojis: [],
    fields: [],
    ...more,
  })

const field = (value: unknown) => ({ name: 'Proof', value, verified_at: null })

const NOBODY = json({ error: 'Record not found' }, 404)

async function startWithChat(t: TestContext) {
  const server = await startHttpsSite(t, ['social.example.com'])
  const other = await startHttpsSite(t, ['elsewhere.example.org'])
  server.serve(FINGER, AT_HOME)
  return {
    ...(await startChatFixture(t, [server, other])),
    server,
    other,
    serve: (page: SitePage) => server.serve(LOOKUP, page),
  }
}

function urlsOf({ requests }: HttpsSite): string[] {
  return [...new Set(requests.map(({ url }) => url))]
}

test('a text in the bio proves an account on Mastodon', async (t) => {
  const { server, other, serve, ...rest } = await startWithChat(t)
  await rest.agent.assertHandleRefused('mastodon', '@desk@social.example.com:8443')
  const channel = await rest.agent.add('mastodon', 'https://social.example.com/@Desk')
  assert.deepEqual(
    [channel.handleOrDomain, channel.link],
    [HANDLE, 'https://social.example.com/@desk'],
  )
  serve(account(`<p>Books flights &amp; hotels.<br />${textOf(channel)}</p><p>Every day</p>`))
  await assertProves(rest, channel, HANDLE)
  assert.deepEqual(urlsOf(server), [
    `${FINGER}?resource=acct%3Adesk%40social.example.com`,
    `${LOOKUP}?acct=desk`,
  ])
  assertTokenNotSent([server], textOf(channel))
})

test('a text in a field of the profile proves it', async (t) => {
  const { serve, ...rest } = await startWithChat(t)
  const channel = await rest.agent.add('mastodon', HANDLE)
  serve(account('', { fields: [field('Berlin'), field(null), null, field(textOf(channel))] }))
  await assertProves(rest, channel, HANDLE)
})

test('an account may be on another server than its handle names if both servers confirm it', async (t) => {
  const { server, other, ...rest } = await startWithChat(t)
  const channel = await rest.agent.add('mastodon', HANDLE)
  const split = finger('acct:desk@social.example.com', 'https://elsewhere.example.org/users/desk')
  server.serve(FINGER, split)
  other.serve(FINGER, split)
  other.serve(LOOKUP, account(`<p>${textOf(channel)}</p>`))
  await assertProves(rest, channel, HANDLE)
  assert.deepEqual(urlsOf(other), [
    `${FINGER}?resource=acct%3Adesk%40elsewhere.example.org`,
    `${LOOKUP}?acct=desk`,
  ])
  assertTokenNotSent([server, other], textOf(channel))
})

test('pointing at an account of another server does not prove it', async (t) => {
  const { server, other, serve, agent } = await startWithChat(t)
  const channel = await agent.add('mastodon', HANDLE)
  const there = 'https://elsewhere.example.org/users/desk'
  server.serve(FINGER, finger('acct:desk@social.example.com', there))
  serve(account(textOf(channel)))
  other.serve(LOOKUP, account(textOf(channel)))
  await assertProvesNothing(agent, channel, (page) => other.serve(FINGER, page), {
    absent: {
      'it has its own name there': () => finger('acct:desk@elsewhere.example.org', there),
      'it lives at a third place': () =>
        finger('acct:desk@social.example.com', 'https://third.example.net/users/desk'),
      'it is not known there': () => ({ status: 404 }),
    },
    unreachable: {},
  })
  assert.ok(!other.requests.some(({ url }) => url.startsWith(LOOKUP)))
})

test('the proof is absent if the server no longer exists in the DNS', async (t) => {
  const { dns, agent } = await startWithChat(t)
  const channel = await agent.add('mastodon', HANDLE)
  dns.remove('social.example.com')
  assert.equal((await agent.check(channel)).outcome, 'absent')
})

test('no other response for the account proves anything', async (t) => {
  const { serve, agent, otherOwnersAgent } = await startWithChat(t)
  const channel = await agent.add('mastodon', HANDLE)
  const others = textOf(await (await otherOwnersAgent()).add('mastodon', HANDLE))
  await assertProvesNothing(agent, channel, serve, {
    absent: {
      'no bio': () => account(''),
      'a bio of another type': (text) => account([text], { fields: text }),
      'another bio': () => account('<p>Books flights.</p>'),
      'in the name': (text) => account('', { display_name: text }),
      'part of a longer word': (text) => account(`<p>x<b>${text}</b></p>`),
      'part of an address, partly hidden': (text) =>
        account(`<a href="#"><span class="invisible">https://</span><span>${text}</span></a>`),
      'in a tag': (text) => account(`<p title=" ${text} ">Books flights.</p><!-- ${text} -->`),
      'another agent’s text': () => account(`<p>${others}</p>`),
      'another account': (text) => account(text, { username: 'other', acct: 'other' }),
      'an account that contradicts itself': (text) => account(text, { username: 'other' }),
      'an account of another server': (text) =>
        account(text, { acct: 'Desk@elsewhere.example.org' }),
      'moved away': (text) =>
        account(text, { moved: { id: '2', acct: 'desk@elsewhere.example.org' } }),
      suspended: (text) => account(text, { suspended: true }),
      nobody: () => NOBODY,
      gone: () => json({ error: 'Gone' }, 410),
    },
    unreachable: {
      'a server that shows profiles to its own': () =>
        json({ error: 'This method requires an authenticated user' }, 401),
      'a server that shows profiles to nobody': () => json({ error: 'Forbidden' }, 403),
      'an account without a name': (text) => json({ acct: 'Desk', note: text }),
      'a name of another type': (text) => account(text, { acct: { length: 4 } }),
      ...UNUSABLE,
    },
  })
})

test('no other WebFinger response proves anything', async (t) => {
  const { server, serve, agent } = await startWithChat(t)
  const channel = await agent.add('mastodon', HANDLE)
  serve(account(textOf(channel)))
  const subject = 'acct:desk@social.example.com'
  const places = [
    'http://social.example.com/users/desk',
    'https://social.example.com:8443/users/desk',
    'https://user:password@social.example.com/users/desk',
    'https://127.0.0.1/users/desk',
    'https://localhost/users/desk',
    'social.example.com',
    '',
    7,
    null,
  ]
  const { 'a page in the place of the API': page404, ...unreadable } = UNUSABLE
  await assertProvesNothing(agent, channel, (page) => server.serve(FINGER, page), {
    absent: { nobody: page404 as () => SitePage, suspended: () => ({ status: 410 }) },
    unreachable: {
      ...unreadable,
      'no links': () => json({ subject }),
      'links of another type': () => json({ subject, links: [null, 'self', { rel: 'self' }] }),
      ...Object.fromEntries(places.map((place) => [String(place), () => finger(subject, place)])),
    },
  })
  assert.ok(!server.requests.some(({ url }) => url.startsWith(LOOKUP)))
})

test('the owner sees that a server hides profiles from other servers', async (t) => {
  const { serve, agent } = await startWithChat(t)
  const channel = await agent.add('mastodon', HANDLE)
  for (const status of [401, 403]) {
    serve({ status, body: '{}' })
    await assertReason(agent, channel, /does not show .*profiles to everybody/)
  }
})
