package smalls3;

import java.io.FileNotFoundException;
import java.io.IOException;
import java.io.InputStream;
import java.net.HttpURLConnection;
import java.net.URI;
import java.net.URL;
import java.nio.charset.StandardCharsets;
import java.security.MessageDigest;
import java.time.Instant;
import java.time.ZoneOffset;
import java.time.format.DateTimeFormatter;
import java.util.ArrayList;
import java.util.List;
import javax.crypto.Mac;
import javax.crypto.spec.SecretKeySpec;
import javax.xml.parsers.DocumentBuilderFactory;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.FSDataInputStream;
import org.apache.hadoop.fs.FSDataOutputStream;
import org.apache.hadoop.fs.FSInputStream;
import org.apache.hadoop.fs.FileStatus;
import org.apache.hadoop.fs.FileSystem;
import org.apache.hadoop.fs.Path;
import org.apache.hadoop.fs.permission.FsPermission;
import org.apache.hadoop.util.Progressable;
import org.w3c.dom.Element;
import org.w3c.dom.NodeList;

/**
 * A file system of Hadoop over S3, for tests: it lists and reads, with the keys and the endpoint of
 * Hadoop's configuration, as the real connector does. Nothing is kept, and nothing is repeated.
 *
 * Sizes and times of modification are those of the store. Where the scheme is gs or abfss, it asks
 * the tests' own server in the words of S3, at the places that the connectors of GCS and Azure have
 * from the configuration.
 */
public final class SmallS3 extends FileSystem {
    private static final DateTimeFormatter STAMP =
            DateTimeFormatter.ofPattern("yyyyMMdd'T'HHmmss'Z'").withZone(ZoneOffset.UTC);

    private URI uri;
    private String endpoint;
    private String bucket;
    private String accessKey;
    private String secretKey;

    public void initialize(URI name, Configuration conf) throws IOException {
        super.initialize(name, conf);
        this.setConf(conf);
        this.uri = URI.create(name.getScheme() + "://" + name.getAuthority());
        this.endpoint = conf.get("fs.s3a.endpoint");
        this.bucket = name.getAuthority();
        if (name.getScheme().equals("gs")) {
            this.endpoint = conf.get("fs.gs.storage.root.url");
        } else if (name.getScheme().equals("abfss")) {
            String[] parts = name.getAuthority().split("[@.]");
            this.endpoint = "http://" + conf.get("fs.azure.abfs.endpoint");
            this.bucket = parts[1] + "/" + parts[0];
        }
        this.accessKey = conf.get("fs.s3a.access.key");
        this.secretKey = conf.get("fs.s3a.secret.key");
    }

    public URI getUri() {
        return this.uri;
    }

    public FSDataInputStream open(Path path, int bufferSize) throws IOException {
        return new FSDataInputStream(new Ranges(this.key(path), this.getFileStatus(path).getLen()));
    }

    public FileStatus getFileStatus(Path path) throws IOException {
        String key = this.key(path);
        if (!key.isEmpty()) {
            HttpURLConnection head = this.request("HEAD", key, "", null);
            if (head.getResponseCode() == 200) {
                String length = head.getHeaderField("Content-Length");
                return this.file(path, Long.parseLong(length), head.getLastModified());
            }
        }
        if (this.list(key.isEmpty() ? "" : key + "/", path).isEmpty()) {
            throw new FileNotFoundException(path.toString());
        }
        return this.folder(path);
    }

    public FileStatus[] listStatus(Path path) throws IOException {
        String key = this.key(path);
        List<FileStatus> found = this.list(key.isEmpty() ? "" : key + "/", path);
        if (found.isEmpty()) {
            found.add(this.getFileStatus(path));
        }
        return (FileStatus[]) found.toArray(new FileStatus[0]);
    }

    private List<FileStatus> list(String prefix, Path folder) throws IOException {
        List<FileStatus> found = new ArrayList<FileStatus>();
        String more = "";
        while (true) {
            String query = more + "delimiter=%2F&list-type=2&prefix=" + escaped(prefix, false);
            Element page = parsed(this.request("GET", "", query, null));
            NodeList files = page.getElementsByTagName("Contents");
            for (int i = 0; i < files.getLength(); i++) {
                Element file = (Element) files.item(i);
                String name = text(file, "Key").substring(prefix.length());
                if (!name.isEmpty()) {
                    long time = Instant.parse(text(file, "LastModified")).toEpochMilli();
                    Path path = new Path(folder, new Path(null, null, name));
                    found.add(this.file(path, Long.parseLong(text(file, "Size")), time));
                }
            }
            NodeList folders = page.getElementsByTagName("CommonPrefixes");
            for (int i = 0; i < folders.getLength(); i++) {
                String name = text((Element) folders.item(i), "Prefix").substring(prefix.length());
                String plain = name.substring(0, name.length() - 1);
                found.add(this.folder(new Path(folder, new Path(null, null, plain))));
            }
            if (!text(page, "IsTruncated").equals("true")) {
                return found;
            }
            String token = escaped(text(page, "NextContinuationToken"), false);
            more = "continuation-token=" + token + "&";
        }
    }

    private FileStatus file(Path path, long size, long time) {
        return new FileStatus(size, false, 1, 32 << 20, time, this.makeQualified(path));
    }

    private FileStatus folder(Path path) {
        return new FileStatus(0, true, 1, 0, 0, this.makeQualified(path));
    }

    private String key(Path path) {
        return this.makeQualified(path).toUri().getPath().substring(1);
    }

    private HttpURLConnection request(String method, String key, String query, String range)
            throws IOException {
        String path = "/" + this.bucket + (key.isEmpty() ? "" : "/" + escaped(key, true));
        URL url = new URL(this.endpoint + path + (query.isEmpty() ? "" : "?" + query));
        String host = url.getHost() + ":" + url.getPort();
        String time = STAMP.format(Instant.now());
        String names = "host;x-amz-content-sha256;x-amz-date";
        String body = "UNSIGNED-PAYLOAD";
        String signed =
                method + "\n" + path + "\n" + query + "\nhost:" + host
                        + "\nx-amz-content-sha256:" + body + "\nx-amz-date:" + time
                        + "\n\n" + names + "\n" + body;
        String scope = time.substring(0, 8) + "/us-east-1/s3/aws4_request";
        try {
            byte[] digest = MessageDigest.getInstance("SHA-256").digest(bytes(signed));
            byte[] key1 = bytes("AWS4" + this.secretKey);
            for (String part : scope.split("/")) {
                key1 = mac(key1, part);
            }
            String text = "AWS4-HMAC-SHA256\n" + time + "\n" + scope + "\n" + hex(digest);
            String credential = "Credential=" + this.accessKey + "/" + scope;
            HttpURLConnection connection = (HttpURLConnection) url.openConnection();
            connection.setRequestMethod(method);
            connection.setRequestProperty("x-amz-content-sha256", body);
            connection.setRequestProperty("x-amz-date", time);
            connection.setRequestProperty(
                    "Authorization",
                    "AWS4-HMAC-SHA256 " + credential + ", SignedHeaders=" + names
                            + ", Signature=" + hex(mac(key1, text)));
            if (range != null) {
                connection.setRequestProperty("Range", range);
            }
            return connection;
        } catch (java.security.GeneralSecurityException error) {
            throw new IOException(error);
        }
    }

    private static Element parsed(HttpURLConnection answer) throws IOException {
        try {
            InputStream stream = answer.getInputStream();
            return DocumentBuilderFactory.newInstance()
                    .newDocumentBuilder()
                    .parse(stream)
                    .getDocumentElement();
        } catch (org.xml.sax.SAXException error) {
            throw new IOException(error);
        } catch (javax.xml.parsers.ParserConfigurationException error) {
            throw new IOException(error);
        }
    }

    private static String text(Element element, String name) {
        NodeList found = element.getElementsByTagName(name);
        return found.getLength() == 0 ? "" : found.item(0).getTextContent();
    }

    private static String escaped(String text, boolean isPath) {
        StringBuilder found = new StringBuilder();
        for (byte one : bytes(text)) {
            char letter = (char) (one & 255);
            boolean isPlain = letter < 128 && (Character.isLetterOrDigit(letter) || "-_.~".indexOf(letter) >= 0);
            found.append(
                    isPlain || isPath && letter == '/'
                            ? String.valueOf(letter)
                            : String.format("%%%02X", new Object[] {Integer.valueOf(one & 255)}));
        }
        return found.toString();
    }

    private static byte[] bytes(String text) {
        return text.getBytes(StandardCharsets.UTF_8);
    }

    private static byte[] mac(byte[] key, String text) throws java.security.GeneralSecurityException {
        Mac mac = Mac.getInstance("HmacSHA256");
        mac.init(new SecretKeySpec(key, "HmacSHA256"));
        return mac.doFinal(bytes(text));
    }

    private static String hex(byte[] data) {
        StringBuilder found = new StringBuilder();
        for (byte one : data) {
            found.append(String.format("%02x", new Object[] {Integer.valueOf(one & 255)}));
        }
        return found.toString();
    }

    /** Reads an object: one request for each read. */
    private final class Ranges extends FSInputStream {
        private final String key;
        private final long size;
        private long at;

        Ranges(String key, long size) {
            this.key = key;
            this.size = size;
        }

        public int read() throws IOException {
            byte[] one = new byte[1];
            return this.read(one, 0, 1) < 0 ? -1 : one[0] & 255;
        }

        public int read(byte[] target, int start, int length) throws IOException {
            int wanted = (int) Math.min((long) length, this.size - this.at);
            if (wanted <= 0) {
                return length == 0 ? 0 : -1;
            }
            String range = "bytes=" + this.at + "-" + (this.at + wanted - 1);
            HttpURLConnection answer = SmallS3.this.request("GET", this.key, "", range);
            InputStream stream = answer.getInputStream();
            int done = stream.readNBytes(target, start, wanted);
            stream.close();
            this.at += done;
            return done;
        }

        public void seek(long position) {
            this.at = position;
        }

        public long getPos() {
            return this.at;
        }

        public boolean seekToNewSource(long position) {
            return false;
        }
    }

    // What tests do not need.

    public FSDataOutputStream create(
            Path path, FsPermission permission, boolean overwrite, int bufferSize,
            short replication, long blockSize, Progressable progress) {
        throw new UnsupportedOperationException("create");
    }

    public FSDataOutputStream append(Path path, int bufferSize, Progressable progress) {
        throw new UnsupportedOperationException("append");
    }

    public boolean rename(Path from, Path to) {
        throw new UnsupportedOperationException("rename");
    }

    public boolean delete(Path path, boolean recursive) {
        throw new UnsupportedOperationException("delete");
    }

    public boolean mkdirs(Path path, FsPermission permission) {
        throw new UnsupportedOperationException("mkdirs");
    }

    public void setWorkingDirectory(Path path) {}

    public Path getWorkingDirectory() {
        return new Path(this.uri.toString() + "/");
    }
}
