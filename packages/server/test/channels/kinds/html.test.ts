import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { metaProperties, textOfHtml } from '../../../src/channels/kinds/html.ts'

test('the text of a profile is what a browser shows', async () => {
  const cases: readonly (readonly [html: string, text: string])[] = [
    ['', ''],
    ['plain', 'plain'],
    ['<p>One</p><p>two<br />three<br>four</p>', 'One\n\ntwo\nthree\nfour'],
    ['a<b>b</b><em class="x">c</em>d', 'abcd'],
    // Mastodon hides parts of long URLs with a class. The hidden parts belong to the text.
    [
      '<a href="https://x.example/"><span class="invisible">https://</span><span class="">x.example</span></a>',
      'https://x.example',
    ],
    ['&lt;p&gt; &amp;amp; &quot;&apos;&#39;&#x41;&nbsp;|&copy;', "<p> &amp; \"''A\u00a0|©"],
    ['&unknown; &amp', '&unknown; &'],
    ['&#0;&#xD800;&#1114112;', '\ufffd\ufffd\ufffd'],
    ['<p title="a > b" data-x=\'<br>\'>in</p>', 'in'],
    ['one<!-- <p>two</p> -->three<!doctype html>four', 'onethreefour'],
    ['one<script>"<p>two</p>"</script><style>three</style>four', 'onefour'],
    ['1 < 2 <3', '1 < 2 <3'],
    ['one<p class="', 'one'],
    ['one<!-- two', 'one'],
    ['one<script>two', 'one'],
    ['one<noscript><p>two</p></noscript><template>three</template>four', 'onefour'],
  ]
  for (const [html, text] of cases) assert.equal(await textOfHtml(html), text, html)
})

test('meta tags before the body are read by property, and the first of two wins', async () => {
  const cases: readonly (readonly [html: string, properties: Record<string, string>])[] = [
    ['<META Property=og:title content="a &amp; b" content="c"/><br></p >', { 'og:title': 'a & b' }],
    ['<meta property="a" content="1"><meta property="a" content="2">', { a: '1' }],
    ['<meta property="a"><meta name="b" content="2">', { a: '' }],
    ['<meta property="a" content="1"><body><meta property="b" content="2">', { a: '1' }],
    ['<script><meta property="a" content="1"></script>', {}],
    ['<noscript><meta property="a" content="1"></noscript>', {}],
    ['<template><meta property="a" content="1"></template>', {}],
    ['<title><meta property="a" content="1"></title>', {}],
    ['<!-- <meta property="a" content="1"> -->', {}],
    ['<meta property="a" content="1', {}],
  ]
  for (const [html, properties] of cases) {
    assert.deepEqual(Object.fromEntries(await metaProperties(html)), properties, html)
  }
})

test('no more than 64 KiB are read', async () => {
  const filler = 'x'.repeat(64 * 1024)
  assert.equal(await textOfHtml(`${filler}more`), filler)
  assert.equal((await metaProperties(`${filler}<meta property="a" content="1">`)).size, 0)
  const nested = '<b>'.repeat(20_000)
  assert.equal(await textOfHtml(`${nested}deep`), 'deep')
})

test('broken markup of any kind is read without failing', async () => {
  const scraps = fc.constantFrom(
    ...['<', '>', '</', '<p', '<p ', '="', '"', "'", '=', '<!--', '-->', '<script>', '</script>'],
    ...['&', '&#', '&#x', ';', 'x', ' ', '/', '<title>', '<!', '\u0000'],
  )
  await fc.assert(
    fc.asyncProperty(fc.array(scraps, { maxLength: 60 }), async (parts) => {
      assert.equal(typeof (await textOfHtml(parts.join(''))), 'string')
      assert.ok((await metaProperties(parts.join(''))) instanceof Map)
    }),
  )
})
