<?php // A site around agent_sessions.php of docs/sessions.md, for `php -S`. Nonces are files beside it.
require __DIR__ . '/agent_sessions.php';

$sessions = new AgentSessions(getenv('AGENT_SERVICE'), getenv('AGENT_AUDIENCE'), getenv('SESSION_SECRET'));
$file = fn ($nonce) => __DIR__ . "/nonce-$nonce";
header('Content-Type: application/json');
header('Cache-Control: no-store');
try {
    if ($_SERVER['REQUEST_URI'] !== '/agent-sign-in') {
        $answer = $sessions->session($_SERVER['HTTP_AUTHORIZATION'] ?? null);
        if ($answer === null) {
            http_response_code(401);
            header('WWW-Authenticate: ServiceID sign_in="/agent-sign-in", Bearer');
        }
    } elseif ($_SERVER['REQUEST_METHOD'] === 'POST') {
        $answer = $sessions->complete(file_get_contents('php://input'), fn ($nonce) => @unlink($file($nonce)));
    } else {
        $answer = $sessions->begin(fn ($nonce) => touch($file($nonce)));
    }
    echo json_encode($answer);
} catch (Refused $refused) {
    http_response_code($refused->status);
    echo json_encode($refused->body());
}
