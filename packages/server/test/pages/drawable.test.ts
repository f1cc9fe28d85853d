import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'
import satori from 'satori'
import { drawable } from '../../src/pages/views/drawable.ts'
import { FONT_SUBSETS } from '../../src/pages/views/preview-styles.ts'

test('the fonts of a preview image have every character that is kept', async () => {
  const fonts = FONT_SUBSETS.map((name) => {
    const file = `@fontsource/inter/files/inter-${name}-700-normal.woff`
    const data = readFileSync(fileURLToPath(import.meta.resolve(file)))
    return { name, weight: 700, style: 'normal', data } as const
  })
  const kept: string[] = []
  for (let code = 0x21; code < 0x3000; code++) {
    const character = String.fromCodePoint(code).normalize('NFC')
    if (drawable(`a${character}`) === `a${character}`) kept.push(character)
  }
  assert.ok(kept.length > 1000)
  const lacking: string[] = []
  for (let i = 0; i < kept.length; i += 50) {
    const children = kept.slice(i, i + 50).join('')
    const style = { display: 'flex', fontFamily: FONT_SUBSETS.join(', '), fontWeight: 700 }
    const element = { type: 'div', props: { style, children } } as unknown as React.ReactNode
    await satori(element, {
      width: 1200,
      height: 630,
      fonts: [...fonts],
      loadAdditionalAsset: async (_script, text) => {
        lacking.push(text)
        return []
      },
    })
  }
  assert.deepEqual(lacking, [])
})

test('a name with letters missing from the fonts is not rendered in part', () => {
  assert.equal(drawable('Ada 東京'), null)
  assert.equal(drawable('Ἀριθμός'), null)
  assert.equal(drawable('🤖 Shopper  🛒 9000'), 'Shopper 9000')
  assert.equal(drawable('Đặng Счётчик Αριθμός Łódź'), 'Đặng Счётчик Αριθμός Łódź')
  assert.equal(drawable('e\u0301'), 'é')
  assert.equal(drawable('🤖'), null)
  assert.equal(drawable('...'), null)
})
