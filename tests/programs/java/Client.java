// SPDX-License-Identifier: Apache-2.0
//
// Java's own HTTP and TLS: one request for each URL, on kept connections. By default with
// HttpsURLConnection, which speaks TLS on sockets; with --engine by java.net.http, which speaks it
// in memory. Prints "status N" or "error: ..."; ends with 0 when every request got an answer.
import java.io.FileInputStream;
import java.io.InputStream;
import java.net.HttpURLConnection;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.nio.charset.StandardCharsets;
import java.security.KeyStore;
import java.security.cert.CertificateFactory;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import javax.net.ssl.HttpsURLConnection;
import javax.net.ssl.SSLContext;
import javax.net.ssl.SSLParameters;
import javax.net.ssl.TrustManagerFactory;

public final class Client {
  private static final String SECRET = System.getenv().getOrDefault("LIVE_SECRET", "none");
  private static String method = "GET";
  private static int timeoutMs = 10000;
  private static boolean maxTls12;
  private static boolean h2;

  public static void main(String[] args) throws Exception {
    SSLContext context = SSLContext.getDefault();
    double pause = 0;
    boolean engine = false;
    List<String> urls = new ArrayList<>();
    for (int i = 0; i < args.length; i++) {
      switch (args[i]) {
        case "--ca" -> context = trusting(args[++i]);
        case "--method" -> method = args[++i];
        case "--timeout" -> timeoutMs = (int) (Double.parseDouble(args[++i]) * 1000);
        case "--pause" -> pause = Double.parseDouble(args[++i]);
        case "--max-tls12" -> maxTls12 = true;
        case "--h2" -> h2 = true;
        case "--engine" -> engine = true;
        default -> urls.add(args[i]);
      }
    }
    if (maxTls12) System.setProperty("https.protocols", "TLSv1.2");
    HttpClient client = engine ? newClient(context) : null;
    boolean failed = false;
    for (int i = 0; i < urls.size(); i++) {
      if (i > 0 && pause > 0) Thread.sleep((long) (pause * 1000));
      URI uri = URI.create(urls.get(i) + "?token=" + SECRET);
      try {
        System.out.println("status " + (engine ? ask(client, uri) : ask(context, uri)));
      } catch (Exception error) {
        failed = true;
        System.out.println("error: " + String.valueOf(error).replace(SECRET, "(hidden)"));
      }
    }
    System.out.flush();
    Runtime.getRuntime().halt(failed ? 1 : 0);
  }

  private static int ask(SSLContext context, URI uri) throws Exception {
    HttpURLConnection connection = (HttpURLConnection) uri.toURL().openConnection();
    if (connection instanceof HttpsURLConnection https) {
      https.setSSLSocketFactory(context.getSocketFactory());
    }
    connection.setInstanceFollowRedirects(false);
    connection.setRequestMethod(method);
    connection.setConnectTimeout(timeoutMs);
    connection.setReadTimeout(timeoutMs);
    connection.setRequestProperty("Authorization", "Bearer " + SECRET);
    if (method.equals("POST")) {
      connection.setDoOutput(true);
      connection.getOutputStream().write(body().getBytes(StandardCharsets.UTF_8));
    }
    int status = connection.getResponseCode();
    if (status < 0) throw new java.io.IOException("no HTTP answer");
    try (InputStream in = status < 400 ? connection.getInputStream() : connection.getErrorStream()) {
      if (in != null) in.readAllBytes();
    }
    return status;
  }

  private static int ask(HttpClient client, URI uri) throws Exception {
    HttpRequest request = HttpRequest.newBuilder(uri)
        .timeout(Duration.ofMillis(timeoutMs))
        .header("Authorization", "Bearer " + SECRET)
        .method(method, method.equals("POST") ? HttpRequest.BodyPublishers.ofString(body())
                                              : HttpRequest.BodyPublishers.noBody())
        .build();
    return client.send(request, HttpResponse.BodyHandlers.discarding()).statusCode();
  }

  private static String body() {
    return "{\"secret\":\"" + SECRET + "\"}";
  }

  private static HttpClient newClient(SSLContext context) {
    HttpClient.Builder builder = HttpClient.newBuilder()
        .version(h2 ? HttpClient.Version.HTTP_2 : HttpClient.Version.HTTP_1_1)
        .connectTimeout(Duration.ofMillis(timeoutMs))
        .sslContext(context);
    if (maxTls12) builder.sslParameters(new SSLParameters(null, new String[] {"TLSv1.2"}));
    return builder.build();
  }

  private static SSLContext trusting(String path) throws Exception {
    KeyStore store = KeyStore.getInstance(KeyStore.getDefaultType());
    store.load(null, null);
    try (FileInputStream in = new FileInputStream(path)) {
      int n = 0;
      for (var certificate : CertificateFactory.getInstance("X.509").generateCertificates(in)) {
        store.setCertificateEntry("ca" + n++, certificate);
      }
    }
    TrustManagerFactory factory =
        TrustManagerFactory.getInstance(TrustManagerFactory.getDefaultAlgorithm());
    factory.init(store);
    SSLContext context = SSLContext.getInstance("TLS");
    context.init(null, factory.getTrustManagers(), null);
    return context;
  }
}
