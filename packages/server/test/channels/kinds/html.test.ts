import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { piecesOf, textOfHtml } from '../../../src/channels/kinds/html.ts'

test('the text of a profile, as it reads', () => {
  const cases: readonly (readonly [html: string, text: string])[] = [
    ['', ''],
    ['plain', 'plain'],
    ['<p>One</p><p>two<br />three<br>four</p>', 'One\n\ntwo\nthree\nfour'],
    ['a<b>b</b><em class="x">c</em>d', 'abcd'],
    // Mastodon hides parts of long addresses: they are part of the word all the same.
    [
      '<a href="https://x.example/"><span class="invisible">https://</span><span class="">x.example</span></a>',
      'https://x.example',
    ],
    ['&lt;p&gt; &amp;amp; &quot;&apos;&#39;&#x41;&nbsp;|&copy;', "<p> &amp; \"''A |&copy;"],
    ['&#0;&#xD800;&#1114112;', '\ufffd\ufffd\ufffd'],
    ['<p title="a > b" data-x=\'<br>\'>in</p>', 'in'],
    ['one<!-- <p>two</p> -->three<!doctype html>four', 'onethreefour'],
    ['one<script>"<p>two</p>"</script><style>three</style>four', 'onefour'],
    ['1 < 2 <3', '1 < 2 <3'],
    ['one<p class="', 'one'],
    ['one<!-- two', 'one'],
    ['one<script>two', 'one'],
  ]
  for (const [html, text] of cases) assert.equal(textOfHtml(html), text, html)
})

test('tags with their attributes, each as it is written first', () => {
  const html = '<META Property=og:title content="a &amp; b" content="c"/><br></p >'
  const tags = [...piecesOf(html)].map((piece) =>
    'tag' in piece ? [piece.tag, piece.closing, Object.fromEntries(piece.attributes)] : piece,
  )
  assert.deepEqual(tags, [
    ['meta', false, { property: 'og:title', content: 'a & b' }],
    ['br', false, {}],
    ['p', true, {}],
  ])
})

test('whatever comes is read to its end', () => {
  const scraps = fc.constantFrom(
    ...['<', '>', '</', '<p', '<p ', '="', '"', "'", '=', '<!--', '-->', '<script>', '</script>'],
    ...['&', '&#', '&#x', ';', 'x', ' ', '/', '<title>', '<!', '\u0000'],
  )
  fc.assert(
    fc.property(fc.array(scraps, { maxLength: 60 }), (parts) => {
      assert.equal(typeof textOfHtml(parts.join('')), 'string')
    }),
  )
})
