import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { type SitePage, startHttpsSite } from '../../../../test/support/https-site.ts'
import {
  assertProves,
  assertProvesNothing,
  assertTokenNotSent,
  startChatFixture,
  textOf,
  UNUSABLE,
} from './support/chat-fixture.ts'

const HTML = { 'content-type': 'text/html; charset=utf-8' }

interface Parts {
  readonly title?: string
  readonly username?: string
  /** Escaped for an attribute. */
  readonly description?: string
  readonly body?: string
}

/** A page as https://t.me returns it, without its styles and scripts. */
function page(parts: Parts): SitePage {
  const { title = 'Travel desk', username = 'travel_desk_bot', description = '', body = '' } = parts
  return {
    headers: HTML,
    body: `<!DOCTYPE html>
<html>
  <head>
    <meta charset="utf-8">
    <title>Telegram: Contact @${username}</title>
    <meta name="viewport" content="width=device-width, initial-scale=1.0">
    <script>try{if(window.parent!=null&&window!=window.parent){window.parent.postMessage('<meta>')}}catch(e){}</script>
<meta property="og:title" content="${title}">
<meta property="og:image" content="https://cdn5.telesco.pe/file/x.jpg">
<meta property="og:site_name" content="Telegram">
<meta property="og:description" content="${description}">

<meta property="twitter:title" content="${title}">
<meta property="al:ios:app_store_id" content="686449807">
<meta property="al:ios:url" content="tg://resolve?domain=${username}">
<meta property="al:android:url" content="tg://resolve?domain=${username}">
<meta name="twitter:description" content="${description}
">
  </head>
  <body class="no_transition">
    <div class="tgme_page_title" dir="auto"><span dir="auto">${title}</span></div>
    <div class="tgme_page_extra">@${username}</div>
    <div class="tgme_page_description" dir="auto">${body}</div>
    <a class="tgme_action_button_new shine" href="tg://resolve?domain=${username}">Start Bot</a>
  </body>
</html>`,
  }
}

const GENERIC = (title: string): SitePage => ({
  headers: HTML,
  body: `<html><head><meta property="og:title" content="${title}">
<meta property="og:description" content="Fast. Secure. Powerful."></head><body></body></html>`,
})

async function startWithChat(t: TestContext) {
  const site = await startHttpsSite(t, ['t.me'])
  const serve = (answer: SitePage) => site.serve('/travel_desk_bot', answer)
  return { ...(await startChatFixture(t, [site])), site, serve }
}

test('a text in the bio proves an account on Telegram', async (t) => {
  const { site, serve, ...rest } = await startWithChat(t)
  await rest.agent.assertHandleRefused('telegram', 't.me/s/travel_desk_bot')
  const channel = await rest.agent.add('telegram', '@Travel_Desk_Bot')
  assert.deepEqual(
    [channel.handleOrDomain, channel.link],
    ['travel_desk_bot', 'https://t.me/travel_desk_bot'],
  )
  const description = `Flights &amp; hotels\n&quot;${textOf(channel)}&quot;`
  serve(page({ username: 'Travel_Desk_Bot', description, title: 'Desk &lt;&amp;&gt;' }))
  await assertProves(rest, channel, '@travel_desk_bot')
  assert.ok(site.requests.every(({ url }) => url === '/travel_desk_bot'))
  assertTokenNotSent([site], textOf(channel))
})

test('no other response of Telegram proves anything', async (t) => {
  const { serve, agent, otherOwnersAgent } = await startWithChat(t)
  const channel = await agent.add('telegram', 'travel_desk_bot')
  const other = textOf(await (await otherOwnersAgent()).add('telegram', 'travel_desk_bot'))
  await assertProvesNothing(agent, channel, serve, {
    absent: {
      'no bio': () => page({}),
      'the bio of somebody who has none': () =>
        page({ description: 'You can contact @travel_desk_bot right away.' }),
      'part of a longer word': (text) => page({ description: `${text}_` }),
      'another agent’s text': () => page({ description: other }),
      'in the name': (text) => page({ title: text }),
      'in the body of the page': (text) => page({ body: text }),
      'in a tag in the body of the page': (text) =>
        page({ body: `<meta property="og:description" content="${text}">` }),
      'in a tag in the body of a page without a bio': (text) => ({
        ...page({}),
        body: String(page({ body: tag(text) }).body).replace(tag(''), ''),
      }),
      'after the bio': (text) =>
        page({ description: `"><meta property="og:description" content="${text}` }),
      'in a tag in a script': (text) => ({
        ...page({}),
        body: String(page({ description: 'x' }).body).replace('<meta>', tag(text)),
      }),
      nobody: (text) => page({ title: 'Telegram: Contact @travel_desk_bot', description: text }),
      'the front page': () => GENERIC('Telegram – a new era of messaging'),
    },
    unreachable: {
      ...UNUSABLE,
      'the page of another account': (text) =>
        page({ username: 'other_desk_bot', description: text }),
      'a page without an account': (text) => GENERIC(text),
      'a page without a title': (text) => ({ headers: HTML, body: tag(text) }),
      'a page that is missing': (text) => ({ ...page({ description: text }), status: 404 }),
    },
  })
})

function tag(text: string): string {
  return `<meta property="og:description" content="${text}">`
}
