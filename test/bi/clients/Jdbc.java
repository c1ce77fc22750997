import java.sql.*;
import java.util.*;

/** What a JDBC tool does with the marts. Arguments: url, user, schema, question, writes…; the password is in PGPASSWORD. Writes one line per fact. */
public class Jdbc {
  public static void main(String[] given) throws Exception {
    Properties login = new Properties();
    login.setProperty("user", given[1]);
    login.setProperty("password", System.getenv("PGPASSWORD"));
    String schema = given[2];
    try (Connection connection = DriverManager.getConnection(given[0], login)) {
      DatabaseMetaData catalogue = connection.getMetaData();
      List<String> views = new ArrayList<>();
      try (ResultSet found = catalogue.getTables(null, schema, "%", new String[] {"VIEW"})) {
        while (found.next()) views.add(found.getString("TABLE_NAME"));
      }
      for (String view : views) describe(connection, catalogue, schema, view);
      try (Statement statement = connection.createStatement(); ResultSet row = statement.executeQuery(given[3])) {
        row.next();
        StringBuilder answer = new StringBuilder("answer");
        for (int at = 1; at <= row.getMetaData().getColumnCount(); at++) answer.append('\t').append(row.getString(at));
        System.out.println(answer);
      }
      for (int at = 4; at < given.length; at++) write(connection, given[at]);
    }
  }

  static void describe(Connection connection, DatabaseMetaData catalogue, String schema, String view) throws SQLException {
    try (ResultSet column = catalogue.getColumns(null, schema, view, "%")) {
      while (column.next())
        System.out.println(String.join("\t", "column", view, column.getString("COLUMN_NAME"), column.getString("TYPE_NAME"),
          column.getString("COLUMN_SIZE"), String.valueOf(column.getString("DECIMAL_DIGITS")),
          column.getString("REMARKS") == null ? "" : "commented"));
    }
    try (Statement statement = connection.createStatement()) {
      ResultSet none = statement.executeQuery("select * from \"" + schema + "\".\"" + view + "\" where 1 = 0");
      int width = none.getMetaData().getColumnCount();
      statement.setMaxRows(1);
      System.out.println("view\t" + view + "\t" + width + "\t" + (statement.executeQuery("select * from \"" + schema + "\".\"" + view + "\"").next() ? 1 : 0));
    }
  }

  static void write(Connection connection, String text) throws SQLException {
    try (Statement statement = connection.createStatement()) {
      statement.execute(text);
      System.out.println("written\t" + text);
    } catch (SQLException refused) {
      System.out.println("refused\t" + refused.getSQLState());
    }
  }
}
