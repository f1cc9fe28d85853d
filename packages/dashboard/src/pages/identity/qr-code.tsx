import { create } from 'qrcode'

interface QrCodeProps {
  readonly text: string
  /** What it is for, to those who cannot see it. */
  readonly label: string
}

/** How many modules stay empty around it, as readers need them (ISO/IEC 18004). */
const QUIET = 4

/** Dark on white in both schemes: not every reader takes it the other way round. */
export function QrCode({ text, label }: QrCodeProps) {
  const { size, data } = create(text, { errorCorrectionLevel: 'M' }).modules
  const dark = Array.from(data, (module, at) =>
    module ? `M${at % size} ${Math.floor(at / size)}h1v1h-1z` : '',
  )
  const side = size + 2 * QUIET
  return (
    <svg
      viewBox={`${-QUIET} ${-QUIET} ${side} ${side}`}
      role="img"
      aria-label={label}
      shapeRendering="crispEdges"
      className="size-60 rounded-lg"
    >
      <rect x={-QUIET} y={-QUIET} width={side} height={side} fill="#fff" />
      <path d={dark.join('')} fill="#000" />
    </svg>
  )
}
