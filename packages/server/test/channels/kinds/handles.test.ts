import assert from 'node:assert/strict'
import { test } from 'node:test'
import { bluesky } from '../../../src/channels/kinds/bluesky.ts'
import { github } from '../../../src/channels/kinds/github.ts'
import { type ChannelKind, InvalidHandleError } from '../../../src/channels/kinds/kind.ts'
import { mastodon } from '../../../src/channels/kinds/mastodon.ts'
import { matrix } from '../../../src/channels/kinds/matrix.ts'
import { telegram } from '../../../src/channels/kinds/telegram.ts'

interface Table {
  readonly kind: ChannelKind
  /** The input, the stored handle and the link. */
  readonly good: readonly (readonly [entered: string, handle: string, link: string])[]
  readonly bad: readonly string[]
}

const TABLES: readonly Table[] = [
  {
    kind: bluesky,
    good: [
      ['name.bsky.social', 'name.bsky.social', 'https://bsky.app/profile/name.bsky.social'],
      ['@Name.bsky.Social', 'name.bsky.social', 'https://bsky.app/profile/name.bsky.social'],
      // The app copies handles with direction marks around them.
      ['\u2068@example.com\u2069 ', 'example.com', 'https://bsky.app/profile/example.com'],
      [
        'https://bsky.app/profile/example.com/',
        'example.com',
        'https://bsky.app/profile/example.com',
      ],
    ],
    bad: [
      'name',
      '@@name.bsky.social',
      'did:plc:z72i7hdynmk6r22z27h6tvur',
      'handle.invalid',
      'name.bsky.social:443',
      'name.bsky.social/post',
      'name.bsky.social?actor=other.bsky.social',
      'name.bsky.social#x',
      'name.bsky.social&actor=x.example.com',
      'user:password@name.bsky.social',
      'https://bsky.app/profile/name.bsky.social/post/3k',
      'https://bsky.app.example.com/profile/name.bsky.social',
      'https://user@bsky.app/profile/name.bsky.social',
      'name_with.bsky.social',
      '127.0.0.1',
    ],
  },
  {
    kind: mastodon,
    good: [
      ['@Name@Social.example.com', '@name@social.example.com', 'https://social.example.com/@name'],
      ['na.me_1@example.com', '@na.me_1@example.com', 'https://example.com/@na.me_1'],
      [
        '@name@bücher.example.com',
        '@name@xn--bcher-kva.example.com',
        'https://xn--bcher-kva.example.com/@name',
      ],
      ['https://example.com/@Name', '@name@example.com', 'https://example.com/@name'],
      [
        'https://example.com/@name@other.example.org/',
        '@name@other.example.org',
        'https://other.example.org/@name',
      ],
    ],
    bad: [
      '@name',
      'name@',
      '@name@localhost',
      '@name@127.0.0.1',
      '@name@[::1]',
      '@name@example.com:8443',
      '@name@example.com/path',
      '@name@example.com?x=1',
      '@name@user@example.com',
      '@name@example.com@evil.example.org',
      '@na/me@example.com',
      '@na%2Fme@example.com',
      '@..@example.com',
      '@name&acct=x@example.com',
      '@name@com',
      'https://example.com:8443/@name',
      'https://user:pw@example.com/@name',
      'https://example.com/@name/1234',
    ],
  },
  {
    kind: github,
    good: [
      ['octocat', 'octocat', 'https://github.com/octocat'],
      ['@Octo-Cat', 'octo-cat', 'https://github.com/octo-cat'],
      ['https://github.com/Octocat', 'octocat', 'https://github.com/octocat'],
      ['github.com/octocat/', 'octocat', 'https://github.com/octocat'],
      ['a'.repeat(39), 'a'.repeat(39), `https://github.com/${'a'.repeat(39)}`],
    ],
    bad: [
      'a'.repeat(40),
      '-octocat',
      'octocat-',
      'octo--cat',
      'octo_cat',
      'octo.cat',
      '..',
      'octocat/gists',
      'octocat?per_page=1',
      'octocat#x',
      'octo%2Fcat',
      'octöcat',
      'https://github.com/octocat/repository',
      'https://github.com.example.com/octocat',
      'https://api.github.com/users/octocat',
    ],
  },
  {
    kind: telegram,
    good: [
      ['example_bot', 'example_bot', 'https://t.me/example_bot'],
      ['@Example_Bot', 'example_bot', 'https://t.me/example_bot'],
      ['https://t.me/Example_Bot', 'example_bot', 'https://t.me/example_bot'],
      ['telegram.me/example_bot/', 'example_bot', 'https://t.me/example_bot'],
    ],
    bad: [
      'abcd',
      'a'.repeat(33),
      '1example',
      '_example',
      'example-bot',
      'example.bot',
      's/example_bot',
      '../example_bot',
      'example_bot?start=x',
      'https://t.me/s/example_bot',
      'https://t.me/example_bot/12',
      'https://t.me/example_bot?start=x',
      'https://t.me:8443/example_bot',
      '+79991234567',
    ],
  },
  {
    kind: matrix,
    good: [
      ['@Name:Matrix.org', '@Name:matrix.org', 'https://matrix.to/#/%40Name%3Amatrix.org'],
      ['name:example.com', '@name:example.com', 'https://matrix.to/#/%40name%3Aexample.com'],
      [
        '@a/../b=+:example.com',
        '@a/../b=+:example.com',
        'https://matrix.to/#/%40a%2F..%2Fb%3D%2B%3Aexample.com',
      ],
      [
        'https://matrix.to/#/@name:example.com',
        '@name:example.com',
        'https://matrix.to/#/%40name%3Aexample.com',
      ],
      [
        'https://matrix.to/#/%40name%3Aexample.com',
        '@name:example.com',
        'https://matrix.to/#/%40name%3Aexample.com',
      ],
    ],
    bad: [
      '@name',
      '#room:example.com',
      '@name:localhost',
      '@name:127.0.0.1',
      '@name:[::1]',
      '@name:example.com:8448',
      '@name:example.com:443',
      '@name:example.com/path',
      '@name:example.com?x=1',
      '@name:user@example.com',
      '@na me:example.com',
      '@na?me:example.com',
      '@name:%65xample.com/%2e%2e',
      `@${'a'.repeat(250)}:example.com`,
      'https://matrix.to/#/#room:example.com',
    ],
  },
]

for (const { kind, good, bad } of TABLES) {
  test(`${kind.label}: a handle is normalized, whatever is pasted`, () => {
    for (const [entered, handle, link] of good) {
      assert.equal(kind.parse(entered), handle, entered)
      assert.equal(kind.parse(handle), handle, 'what is stored reads as itself')
      assert.equal(kind.link(handle), link)
    }
  })

  test(`${kind.label}: anything but a handle is refused`, () => {
    const strange = [
      '',
      ' ',
      '@',
      ':',
      '@:',
      '\u0000',
      '\ud800',
      'a\nb',
      'x'.repeat(512),
      '@'.repeat(512),
    ]
    for (const text of [...bad, ...strange]) {
      assert.throws(() => kind.parse(text), InvalidHandleError, `${JSON.stringify(text)} was taken`)
    }
  })
}
