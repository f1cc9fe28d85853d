/** Opening and closing quotation marks of any script, and what looks like one. */
const QUOTES =
  /["\u02ba\u02dd\u02ee\u02f6\u2033\u2036\u300c-\u300f\u301d-\u301f\uff02\p{Pi}\p{Pf}„‚]/gu

/** A name within quotation marks: it cannot end them, and so reads as a name. */
export function quotable(name: string): string {
  return name.replaceAll(QUOTES, '’')
}

/** A self-declared name in a sentence: within quotation marks, and its direction does not affect the words around it. */
export function Quoted({ children }: { readonly children: string }) {
  return (
    <>
      “<bdi>{quotable(children)}</bdi>”
    </>
  )
}
