/** A way to verify a downloaded certificate, with commands that run as they are. */
export interface VerifyCommands {
  readonly name: string
  readonly commands: string
  /** What the commands leave to the reader. Null: nothing but the status. */
  readonly remark: string | null
}

const FILE = 'certificate.jwt'

/** The command that saves a certificate. @param url its address */
export function downloadCommand(url: string): string {
  return `curl -sSf -o ${FILE} ${url}`
}

/** How to verify the saved certificate with jose, PyJWT and openssl. @param baseUrl of the issuer, without a slash at the end */
export function verifyCommands(baseUrl: string): readonly VerifyCommands[] {
  const keySet = `${baseUrl}/.well-known/jwks.json`
  return [
    {
      name: 'jose (Node.js)',
      commands: `npm install --no-save jose
node --input-type=module -e "
import { readFileSync } from 'node:fs'
import { createRemoteJWKSet, jwtVerify } from 'jose'
const keys = createRemoteJWKSet(new URL('${keySet}'))
const expected = { issuer: '${baseUrl}', typ: 'dc+sd-jwt' }
const { payload } = await jwtVerify(readFileSync('${FILE}', 'utf8'), keys, expected)
console.log(payload)
"`,
      remark: null,
    },
    {
      name: 'PyJWT (Python)',
      commands: `python3 -c "
import jwt
token = open('${FILE}').read()
assert jwt.get_unverified_header(token)['typ'] == 'dc+sd-jwt'
key = jwt.PyJWKClient('${keySet}').get_signing_key_from_jwt(token)
print(jwt.decode(token, key.key, algorithms=['EdDSA'], issuer='${baseUrl}'))
"`,
      remark: 'Needs the packages pyjwt and cryptography.',
    },
    {
      name: 'openssl',
      commands: `decode() { tr -- '-_' '+/' | awk '{ while (length($0) % 4) $0 = $0 "="; print }' | openssl base64 -d -A; }
KID=$(cut -d. -f1 ${FILE} | decode | sed 's/.*"kid":"\\([^"]*\\)".*/\\1/')
X=$(curl -sSf ${keySet} | tr '}' '\\n' | grep -F "\\"kid\\":\\"$KID\\"" | sed 's/.*"x":"\\([^"]*\\)".*/\\1/')
{ printf '\\060\\052\\060\\005\\006\\003\\053\\145\\160\\003\\041\\000'; echo "$X" | decode; } > issuer.der
printf '%s' "$(cut -d. -f1,2 ${FILE})" > signed.txt
cut -d. -f3 ${FILE} | decode > signature.bin
openssl pkeyutl -verify -pubin -keyform DER -inkey issuer.der -rawin -in signed.txt -sigfile signature.bin
cut -d. -f2 ${FILE} | decode`,
      remark: `openssl verifies the signature only. Check that typ is dc+sd-jwt, iss is ${baseUrl}, and exp has not passed.`,
    },
  ]
}
