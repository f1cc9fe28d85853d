/** Characters that hide text or change its direction, and separators of lines. */
const DECEPTIVE = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}]/gu
const MAX_LENGTH = 64

/**
 * Quotes a name that an agent or an owner chose. Mail programs make links of what looks like an address, so that the
 * characters of addresses are replaced: the only links of an e-mail are the service's own.
 */
export function selfDeclared(name: string): string {
  const characters = [...name.normalize('NFKC').replaceAll(DECEPTIVE, ' ')]
  const cut = characters.length > MAX_LENGTH
  const text = `${characters.slice(0, MAX_LENGTH).join('')}${cut ? '…' : ''}`
  const inert = text
    .replaceAll(/[“”"]/g, '’')
    .replaceAll('@', ' at ')
    .replaceAll(/[:/\\]+/g, ' ')
    .replaceAll(/[.\u3002](?=\S)/g, '·')
  return `“${inert.replaceAll(/\s+/gu, ' ').trim()}”`
}
