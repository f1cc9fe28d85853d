import { type Perspective, ProofAbsent, Unreachable } from '../../http/outbound/perspective.ts'
import { chatKind } from './chat-kind.ts'
import { metaProperties } from './html.ts'
import { assertAvailable, platformPerspective, unexpectedResponse } from './json-answer.ts'
import { assertForm, extractHandle } from './parse-handle.ts'

/** https://core.telegram.org/method/account.checkUsername: 5 to 32 letters, digits and underscores, a letter first. */
const USERNAME = /^[a-z][a-z0-9_]{4,31}$/
const ADDRESS = /^(?:https?:\/\/)?(?:t|telegram)\.me\/([^/?#]+)\/?$/i
/** The link to the account for Telegram's apps, which names the page's account: https://core.telegram.org/api/links */
const APP_LINK = /^tg:\/\/resolve\?domain=([a-z0-9_]+)$/i
/** The title of the page for an unused username, and of the start page. */
const NO_ACCOUNT_TITLE =
  /^Telegram(?:: Contact @[a-z0-9_]+| Messenger| [–-] a new era of messaging)$/i

/** A person, a bot, a group or a channel on Telegram. */
export const telegram = chatKind(
  {
    id: 'telegram',
    label: 'Telegram',
    proves: 'The agent has this account on Telegram.',
    field: {
      label: 'Username',
      placeholder: 'example_bot',
      hint: 'The public username of a bot, a person, a group or a channel, as in t.me/example_bot.',
    },
    parse(text) {
      const username = extractHandle(text, ADDRESS).toLowerCase()
      assertForm(
        username,
        USERNAME,
        'A username on Telegram has 5 to 32 letters, digits and underscores and begins with a letter.',
      )
      return username
    },
    link: (username) => `https://t.me/${username}`,
  },
  [
    {
      id: 'profile',
      title: 'In the bio',
      name: 'the bio',
      step: 'Bot: send /setabouttext to @BotFather and paste the text. Person: open Settings, "Edit" and paste the text into "Bio". Group or channel: paste it into "Description".',
      read: readBio,
    },
  ],
)

/** Telegram has no public API for profiles. On the public page, only `og:description` is set by the account. */
async function readBio(from: Perspective, username: string): Promise<string[]> {
  const url = new URL(`https://t.me/${username}`)
  const page = await platformPerspective(from).get(url, 'text/html')
  assertAvailable(page, url)
  const meta = await metaProperties(page.text)
  const title = meta.get('og:title')
  if (page.status !== 200 || title === undefined) throw unexpectedResponse(url, page)
  if (NO_ACCOUNT_TITLE.test(title)) throw new ProofAbsent(`Telegram shows no account @${username}.`)
  if (APP_LINK.exec(meta.get('al:ios:url') ?? '')?.[1]?.toLowerCase() !== username) {
    throw new Unreachable(`t.me gives a page that is not about @${username}.`)
  }
  return [meta.get('og:description') ?? '']
}
