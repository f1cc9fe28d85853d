export default function Page() {
  return <h1>A shop for people and agents</h1>
}
